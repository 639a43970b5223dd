// Tensors of heads for tests: in every layout, of random numbers, in guarded memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "posenc/reference.h"
#include "posenc/tensor.h"
#include "reference/elements.h"
#include "support/guarded_memory.h"

namespace posenc::test {

inline constexpr DType kDTypes[] = {DType::f32, DType::f16, DType::bf16};

struct Sizes {
  std::int64_t batch = 1;  // of rank 4 only
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
};

// How a tensor lies in memory. Of rank 3: thd, htd (a head's tokens together), gaps (after each head and each token),
// reversed (tokens and heads from last to first). Of rank 4: bhtd, and bthd with gaps.
enum class Layout : std::uint8_t { thd, htd, gaps, reversed, bhtd, bthd };
inline constexpr Layout kLayouts[] = {Layout::thd,      Layout::htd,  Layout::gaps,
                                      Layout::reversed, Layout::bhtd, Layout::bthd};

inline const char* name(Layout layout) {
  constexpr const char* kNames[] = {"thd", "htd", "gaps", "reversed", "bhtd", "bthd"};
  return kNames[static_cast<std::size_t>(layout)];
}
inline bool is_rank_4(Layout layout) { return layout == Layout::bhtd || layout == Layout::bthd; }

// A view without memory.
inline TensorView laid_out(Layout layout, DType dtype, const Sizes& n) {
  const std::int64_t d = n.head_dim;
  switch (layout) {
    case Layout::thd: return {nullptr, dtype, 3, {n.tokens, n.heads, d}, {n.heads * d, d, 1}};
    case Layout::htd: return {nullptr, dtype, 3, {n.tokens, n.heads, d}, {d, n.tokens * d, 1}};
    case Layout::gaps: return {nullptr, dtype, 3, {n.tokens, n.heads, d}, {n.heads * (d + 3) + 7, d + 3, 1}};
    case Layout::reversed: return {nullptr, dtype, 3, {n.tokens, n.heads, d}, {-n.heads * (d + 1), -(d + 1), 1}};
    case Layout::bhtd:
      return {nullptr, dtype, 4, {n.batch, n.heads, n.tokens, d}, {n.heads * n.tokens * d, n.tokens * d, d, 1}};
    case Layout::bthd: break;
  }
  const std::int64_t row = n.heads * d + 5;
  return {nullptr, dtype, 4, {n.batch, n.heads, n.tokens, d}, {n.tokens * row + 2, d, row, 1}};
}

// Elements from the lowest of a view to the end of the highest, and from the lowest to the first.
struct Span {
  std::int64_t elements = 1;
  std::int64_t first = 0;
};
inline Span span_of(const ConstTensorView& view) {
  Span out;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(view.rank); ++axis) {
    if (view.shape[axis] == 0) return {0, 0};
    const std::int64_t reach = (view.shape[axis] - 1) * view.strides[axis];
    out.elements += std::abs(reach);
    if (reach < 0) out.first -= reach;
  }
  return out;
}

// Calls visit(offset) with the offset of every element, and with its number in the order of the view's axes.
template <typename Visit>
void for_elements(const ConstTensorView& view, const Visit& visit) {
  std::array<std::int64_t, kMaxRank> shape{1, 1, 1, 1};
  std::array<std::int64_t, kMaxRank> strides{};
  for (int axis = 0; axis < view.rank; ++axis) {
    const auto to = static_cast<std::size_t>(kMaxRank - view.rank + axis);
    shape[to] = view.shape[static_cast<std::size_t>(axis)];
    strides[to] = view.strides[static_cast<std::size_t>(axis)];
  }
  std::size_t number = 0;
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    for (std::int64_t j = 0; j < shape[1]; ++j) {
      for (std::int64_t k = 0; k < shape[2]; ++k) {
        const std::int64_t head = i * strides[0] + j * strides[1] + k * strides[2];
        for (std::int64_t c = 0; c < shape[3]; ++c) visit(head + c * strides[3], number++);
      }
    }
  }
}

// The bits of an element, below 16 bits for f16 and bf16.
inline std::uint32_t bits_at(const ConstTensorView& view, std::int64_t offset) {
  std::uint32_t out = 0;
  const auto bytes = static_cast<std::size_t>(bytes_of(view.dtype));
  std::memcpy(&out, static_cast<const std::byte*>(view.data) + offset * static_cast<std::int64_t>(bytes), bytes);
  return out;
}
inline void set_bits(const TensorView& view, std::int64_t offset, std::uint32_t bits) {
  const auto bytes = static_cast<std::size_t>(bytes_of(view.dtype));
  std::memcpy(static_cast<std::byte*>(view.data) + offset * static_cast<std::int64_t>(bytes), &bits, bytes);
}

// Elements in the order of the axes.
inline std::vector<std::uint32_t> bits_of(const ConstTensorView& view) {
  std::vector<std::uint32_t> out;
  for_elements(view, [&](std::int64_t offset, std::size_t) { out.push_back(bits_at(view, offset)); });
  return out;
}
inline std::vector<double> values_of(const ConstTensorView& view) {
  std::vector<double> out;
  for_elements(view, [&](std::int64_t offset, std::size_t) { out.push_back(reference::read(view, offset)); });
  return out;
}

// Of magnitude 2^-8 up to 2^3, either sign, any mantissa.
inline std::uint32_t random_bits(DType dtype, std::mt19937_64& random) {
  const auto r = static_cast<std::uint64_t>(random());
  const std::uint32_t sign = static_cast<std::uint32_t>(r >> 63U);
  const std::uint32_t exponent = static_cast<std::uint32_t>(r >> 40U) % 11;
  const std::uint32_t mantissa = static_cast<std::uint32_t>(r) & 0x7FFFFFU;
  switch (dtype) {
    case DType::f16: return sign << 15U | (15 - 8 + exponent) << 10U | mantissa >> 13U;
    case DType::bf16: return sign << 15U | (127 - 8 + exponent) << 7U | mantissa >> 16U;
    default: return sign << 31U | (127 - 8 + exponent) << 23U | mantissa;
  }
}

inline void fill(const TensorView& view, std::mt19937_64& random) {
  for_elements(view, [&](std::int64_t offset, std::size_t) { set_bits(view, offset, random_bits(view.dtype, random)); });
}

// A tensor of random numbers, `misaligned` elements off the edge of its pages; random bytes around and between them.
class Heads {
 public:
  Heads(const TensorView& laid_out, std::mt19937_64& random, Edge edge = Edge::end, std::int64_t misaligned = 0)
      : view_(laid_out),
        memory_(span_of(laid_out).elements * bytes_of(laid_out.dtype), edge, misaligned * bytes_of(laid_out.dtype)) {
    view_.data = memory_.data() + span_of(laid_out).first * bytes_of(laid_out.dtype);
    for (std::byte* p = memory_.begin(); p < memory_.end(); p += sizeof(std::uint64_t)) {  // pages hold whole words
      const std::uint64_t word = random();
      std::memcpy(p, &word, sizeof word);
    }
    fill(view_, random);
  }

  const TensorView& view() const noexcept { return view_; }
  std::vector<std::byte> memory() const { return memory_.copy(); }
  void restore(const std::vector<std::byte>& memory) { std::ranges::copy(memory, memory_.begin()); }

  // The view, of a copy of the memory.
  ConstTensorView in(const std::vector<std::byte>& memory) {
    ConstTensorView out = view_;
    out.data = memory.data() + (static_cast<std::byte*>(view_.data) - memory_.begin());
    return out;
  }

 private:
  TensorView view_;
  GuardedMemory memory_;
};

}  // namespace posenc::test
