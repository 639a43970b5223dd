// The prefill kernel: c = scale c + a b, a small matrix product with outer products in registers (as GotoBLAS' micro
// kernels, DOI 10.1145/1356052.1356053): lanes of b and c in registers, elements of a broadcast.
//
//   QK^T   a: keys [rows][depth],  b: queries [depth][lanes]      PV   a: values^T,  b: weights [keys][lanes]
//
// Written once over what is multiplied: floats here, pairs of bfloat16 in pairs_avx512.cpp.
//
// Each element of c is one sum over k, in order, whatever the number of rows and of lanes beside it.
#pragma once

#include "kernels/attention.h"
#include "kernels/lanes.h"

namespace posenc::kernels {

// Factors are floats, one of a beside one of b.
template <class Vector>
struct FloatFactors {
  using V = Vector;
  static constexpr std::int64_t kDepth = 1;
  static typename V::Floats spread(const float* a) noexcept { return V::all(*a); }
  static typename V::Floats load(const float* b) noexcept { return V::load(b, All{}); }
  static typename V::Floats multiply_add(typename V::Floats a, typename V::Floats b, typename V::Floats c) noexcept {
    return V::fma(a, b, c);
  }
  static typename V::Floats finished(const Product&, std::int64_t, typename V::Floats sum) noexcept { return sum; }
  static std::int64_t b_row(const Product& x) noexcept { return x.b_row == 0 ? x.lanes : x.b_row; }
  static std::int64_t c_row(const Product& x) noexcept { return x.c_row == 0 ? x.lanes : x.c_row; }
};

// kRows rows from the first of a and c on.
template <class Factors, int kRows, int kRegisters, class X, class Element>
void product_rows(const X& x, const Element* a, float* c) noexcept {
  using V = typename Factors::V;
  using Floats = typename V::Floats;
  const std::int64_t b_row = Factors::b_row(x);
  const std::int64_t c_row = Factors::c_row(x);
  Floats sums[kRows][kRegisters];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int j = 0; j < kRegisters; ++j) {
      sums[r][j] = x.scale == nullptr
                       ? V::all(0.0F)
                       : V::mul(V::load(c + r * c_row + j * V::kLanes, All{}), V::load(x.scale + j * V::kLanes, All{}));
    }
  }
  auto* b = x.b;
  for (std::int64_t k = 0; k < x.depth; k += Factors::kDepth) {
    decltype(Factors::load(b)) of_b[kRegisters];
#pragma GCC unroll 3
    for (int j = 0; j < kRegisters; ++j) of_b[j] = Factors::load(b + j * V::kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const auto of_a = Factors::spread(a + r * x.a_row);
#pragma GCC unroll 3
      for (int j = 0; j < kRegisters; ++j) sums[r][j] = Factors::multiply_add(of_a, of_b[j], sums[r][j]);
    }
    a += x.a_step;
    b += b_row;
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int j = 0; j < kRegisters; ++j) {
      V::store(c + r * c_row + j * V::kLanes, Factors::finished(x, j * V::kLanes, sums[r][j]), All{});
    }
  }
}

// All rows for kRegisters registers of lanes: V::kProductRows at a time, then fewer.
template <class Factors, int kRegisters, class X>
void product_lanes(const X& x) noexcept {
  using V = typename Factors::V;
  std::int64_t r = 0;
  const auto rows = [&]<int kRows>() noexcept {
    for (; r + kRows <= x.rows; r += kRows) {
      product_rows<Factors, kRows, kRegisters>(x, x.a + r * x.a_row, x.c + r * Factors::c_row(x));
    }
  };
  rows.template operator()<V::kProductRows>();
  if constexpr (V::kProductRows > 4) rows.template operator()<4>();
  if constexpr (V::kProductRows > 2) rows.template operator()<2>();
  rows.template operator()<1>();
}

template <class Factors, class X>
void product_of(const X& x) noexcept {
  switch (x.lanes / Factors::V::kLanes) {
    case 1: return product_lanes<Factors, 1>(x);
    case 2: return product_lanes<Factors, 2>(x);
    default: return product_lanes<Factors, 3>(x);
  }
}

template <class V>
void product(const Product& x) noexcept {
  product_of<FloatFactors<V>>(x);
}

}  // namespace posenc::kernels
