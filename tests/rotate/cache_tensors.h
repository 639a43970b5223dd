// Tensors of random numbers for tests of caches.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "posenc/info.h"
#include "posenc/tensor.h"

namespace posenc::test {

// A tensor and the memory it is in, which begins and ends with `margin` elements that are not of it.
struct Owned {
  TensorView view;
  std::vector<std::byte> memory;
};

// Strides are those of adjacent elements, with `gap` elements after each step of the axis before the last.
inline Owned owned(DType dtype, std::vector<std::int64_t> shape, std::int64_t gap = 0) {
  constexpr std::int64_t kMargin = 64;
  Owned out;
  out.view.dtype = dtype;
  out.view.rank = static_cast<int>(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    out.view.shape[axis] = shape[axis];
    out.view.strides[axis] = stride;
    stride = stride * shape[axis] + (axis + 1 == shape.size() ? gap : 0);
  }
  out.memory.resize(static_cast<std::size_t>((stride + 2 * kMargin) * bytes_of(dtype)), std::byte{0x5A});
  out.view.data = out.memory.data() + kMargin * bytes_of(dtype);
  return out;
}

// The bits of the nearest number of a dtype of 16 bits, ties to even; x is finite and does not overflow it.
inline std::uint16_t nearest_bits(DType dtype, double x) {
  const int digits = dtype == DType::f16 ? 11 : 8;
  const int lowest = dtype == DType::f16 ? -24 : -133;  // exponent of the smallest subnormal
  int exponent = 0;
  std::frexp(x, &exponent);
  const int unit = x == 0.0 ? lowest : std::max(exponent - digits, lowest);
  const auto whole = static_cast<std::int64_t>(std::nearbyint(std::ldexp(std::abs(x), -unit)));
  // Below 2^(digits - 1) units it is subnormal; a carry into the exponent is what rounding up to a power of two is.
  const std::int64_t bits = (static_cast<std::int64_t>(unit - lowest) << (digits - 1)) + whole;
  return static_cast<std::uint16_t>(bits | (std::signbit(x) ? 0x8000 : 0));
}

inline void set(const TensorView& view, std::int64_t offset, double x) {
  auto* const p = static_cast<std::byte*>(view.data) + offset * bytes_of(view.dtype);
  if (view.dtype == DType::f32) {
    const auto y = static_cast<float>(x);
    std::memcpy(p, &y, sizeof y);
  } else {
    const std::uint16_t y = nearest_bits(view.dtype, x);
    std::memcpy(p, &y, sizeof y);
  }
}

// Floats in a register, on which the bounds of sums depend.
inline double lanes_of(Isa isa) {
  switch (isa) {
    case Isa::avx512:
    case Isa::avx512_bf16:
    case Isa::amx: return 16;
    case Isa::avx2: return 8;
    case Isa::neon: return 4;
    case Isa::automatic:
    case Isa::scalar: break;
  }
  return 2;
}

// Every element, the last axis fastest.
template <typename Visit>
void for_offsets(const ConstTensorView& view, const Visit& visit) {
  std::int64_t count = 1;
  for (int axis = 0; axis < view.rank; ++axis) count *= view.shape[static_cast<std::size_t>(axis)];
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    std::int64_t offset = 0;
    for (auto axis = static_cast<std::size_t>(view.rank); axis-- > 0;) {
      offset += rest % view.shape[axis] * view.strides[axis];
      rest /= view.shape[axis];
    }
    visit(offset);
  }
}

inline void fill_uniform(const TensorView& view, std::mt19937_64& random, double least = -3.0, double most = 3.0) {
  std::uniform_real_distribution<double> uniform(least, most);
  for_offsets(view, [&](std::int64_t offset) { set(view, offset, uniform(random)); });
}

inline Owned filled(DType dtype, std::vector<std::int64_t> shape, std::mt19937_64& random, std::int64_t gap = 0) {
  Owned out = owned(dtype, std::move(shape), gap);
  fill_uniform(out.view, random);
  return out;
}

}  // namespace posenc::test
