// Views of tensors: memory that somebody else owns, its dtype, its shape and its strides. They never allocate or free.
//
// Attention tensors are [tokens, heads, head_dim] (rank 3) or [batch, heads, tokens, head_dim] (rank 4). Any other
// order of the same axes is a matter of strides: a [batch, tokens, heads, head_dim] tensor is `transposed(view, 1, 2)`.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "posenc/export.h"

namespace posenc::inline v0_2 {

// f16 is IEEE 754 binary16; bf16 the upper half of a binary32. f64 is for the reference.
enum class DType : std::uint8_t { f32, f16, bf16, f64 };

POSENC_API std::string_view name(DType dtype) noexcept;

constexpr std::int64_t bytes_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::f64: return 8;
    case DType::f32: return 4;
    case DType::f16:
    case DType::bf16: return 2;
  }
  return 0;
}

inline constexpr int kMaxRank = 4;

// Pointer is void* or const void*. Element (i, j, ...) stands strides[0] i + strides[1] j + ... elements after data.
// A view of rank 0 stands for "no tensor".
template <typename Pointer>
struct BasicTensorView {
  Pointer data = nullptr;
  DType dtype = DType::f32;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};  // in elements

  constexpr bool empty() const noexcept { return rank == 0; }
  constexpr operator BasicTensorView<const void*>() const noexcept {  // NOLINT: what may be written may be read
    return {data, dtype, rank, shape, strides};
  }
  bool operator==(const BasicTensorView&) const = default;
};

using TensorView = BasicTensorView<void*>;
using ConstTensorView = BasicTensorView<const void*>;

// A view of elements that lie one after another, the last axis fastest; shape: of any list of sizes, or in braces.
// Throws Error for a rank above kMaxRank, a negative size, or sizes whose product passes 2^63.
POSENC_API TensorView tensor(void* data, DType dtype, std::span<const std::int64_t> shape);
POSENC_API ConstTensorView tensor(const void* data, DType dtype, std::span<const std::int64_t> shape);
POSENC_API TensorView tensor(void* data, DType dtype, std::initializer_list<std::int64_t> shape);
POSENC_API ConstTensorView tensor(const void* data, DType dtype, std::initializer_list<std::int64_t> shape);

inline TensorView tensor(float* data, std::initializer_list<std::int64_t> shape) {
  return tensor(data, DType::f32, shape);
}
inline ConstTensorView tensor(const float* data, std::initializer_list<std::int64_t> shape) {
  return tensor(data, DType::f32, shape);
}
inline TensorView tensor(double* data, std::initializer_list<std::int64_t> shape) {
  return tensor(data, DType::f64, shape);
}
inline ConstTensorView tensor(const double* data, std::initializer_list<std::int64_t> shape) {
  return tensor(data, DType::f64, shape);
}

// The same elements with two axes exchanged. Throws Error for an axis that the view does not have.
POSENC_API TensorView transposed(TensorView view, int axis, int other);
POSENC_API ConstTensorView transposed(ConstTensorView view, int axis, int other);

}  // namespace posenc::inline v0_2
