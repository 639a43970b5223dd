// c = scale c + a b, written once over a vector of floats V: lanes of b and c in registers, elements of a spread.
//
// Each element of c is one sum over k, in order, whatever the number of rows and of lanes beside it.
#pragma once

#include "kernels/attention.h"
#include "kernels/lanes.h"

namespace posenc::kernels {

// kRows rows from the first of a and c on.
template <class V, int kRows, int kRegisters>
void product_rows(const Product& x, const float* a, float* c) noexcept {
  using Floats = typename V::Floats;
  Floats sums[kRows][kRegisters];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int j = 0; j < kRegisters; ++j) {
      sums[r][j] = x.scale == nullptr ? V::all(0.0F)
                                      : V::mul(V::load(c + r * x.lanes + j * V::kLanes, All{}),
                                               V::load(x.scale + j * V::kLanes, All{}));
    }
  }
  const float* b = x.b;
  for (std::int64_t k = 0; k < x.depth; ++k) {
    Floats of_b[kRegisters];
#pragma GCC unroll 3
    for (int j = 0; j < kRegisters; ++j) of_b[j] = V::load(b + j * V::kLanes, All{});
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const Floats of_a = V::all(a[r * x.a_row]);
#pragma GCC unroll 3
      for (int j = 0; j < kRegisters; ++j) sums[r][j] = V::fma(of_a, of_b[j], sums[r][j]);
    }
    a += x.a_step;
    b += x.lanes;
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int j = 0; j < kRegisters; ++j) V::store(c + r * x.lanes + j * V::kLanes, sums[r][j], All{});
  }
}

template <class V, int kRegisters>
void product_lanes(const Product& x) noexcept {
  std::int64_t r = 0;
  const auto rows = [&]<int kRows>() noexcept {
    for (; r + kRows <= x.rows; r += kRows) {
      product_rows<V, kRows, kRegisters>(x, x.a + r * x.a_row, x.c + r * x.lanes);
    }
  };
  rows.template operator()<V::kProductRows>();
  if constexpr (V::kProductRows > 4) rows.template operator()<4>();
  if constexpr (V::kProductRows > 2) rows.template operator()<2>();
  rows.template operator()<1>();
}

template <class V>
void product(const Product& x) noexcept {
  switch (x.lanes / V::kLanes) {
    case 1: return product_lanes<V, 1>(x);
    case 2: return product_lanes<V, 2>(x);
    default: return product_lanes<V, 3>(x);
  }
}

}  // namespace posenc::kernels
