// exp, sigmoid and tanh of floats, written once over a vector V: for the softmax, CoPE's gates and the soft cap.
//
//   exp(x) = 2^(x log2 e),   2^x = 2^n 2^f      n the nearest integer, 2^f a minimax polynomial
//
// The usual range reduction (Cephes, SLEEF); coefficients by scripts/exp2_coefficients.py. No result is denormal.
#pragma once

#include <cstdint>

namespace posenc::kernels {

constexpr float kNothing = -__builtin_huge_valf();

// 2^x within 1.9e-9 and the roundings of seven steps, for x at most 126; 0 below -126, for -inf too: no result is
// denormal. NaN for NaN. x = n + f with n whole and f in [-1/2, 1/2]; 2^f is the polynomial of degree 6 that is nearest
// in relative error (scripts/exp2_coefficients.py).
template <class V>
typename V::Floats exp2(typename V::Floats x) noexcept {
  using Floats = typename V::Floats;
  const Floats bound = V::all(-126.0F);
  const Floats least = V::max(bound, x);   // in this order NaN for NaN
  const Floats whole = V::all(0x1.8p23F);  // added, it leaves n in the lowest bits
  const Floats shifted = V::add(least, whole);
  const Floats n = V::sub(shifted, whole);
  const Floats f = V::sub(least, n);
  Floats y = V::all(0x1.41d332p-13F);
  y = V::fma(y, f, V::all(0x1.5f456ap-10F));
  y = V::fma(y, f, V::all(0x1.3b2dbcp-7F));
  y = V::fma(y, f, V::all(0x1.c6aed4p-5F));
  y = V::fma(y, f, V::all(0x1.ebfbdap-3F));
  y = V::fma(y, f, V::all(0x1.62e430p-1F));
  y = V::fma(y, f, V::all(1.0F));
  return V::where_less(x, bound, V::all(0.0F), V::times_two_to(y, n, shifted));
}

template <class V>
typename V::Floats exp(typename V::Floats x) noexcept {
  return exp2<V>(V::mul(x, V::all(0x1.715476p0F)));  // log2(e)
}

// 1 / (1 + exp(-x)); 0 for -inf, NaN for NaN.
template <class V>
typename V::Floats sigmoid(typename V::Floats x) noexcept {
  const typename V::Floats bound = V::all(-87.0F);  // exp(87) is still a float
  const typename V::Floats least = V::max(bound, x);
  const typename V::Floats gate = V::div(V::all(1.0F), V::add(V::all(1.0F), exp<V>(V::sub(V::all(0.0F), least))));
  return V::where_less(x, bound, V::all(0.0F), gate);
}

// For |x| below 5/8 by the odd polynomial of Cephes' tanhf, else (1 - e) / (1 + e) with e = exp(-2 |x|).
template <class V>
typename V::Floats tanh(typename V::Floats x) noexcept {
  using Floats = typename V::Floats;
  const Floats size = V::max(x, V::sub(V::all(0.0F), x));
  const Floats square = V::mul(x, x);
  Floats y = V::all(-5.70498872745e-3F);
  y = V::fma(y, square, V::all(2.06390887954e-2F));
  y = V::fma(y, square, V::all(-5.37397155531e-2F));
  y = V::fma(y, square, V::all(1.33314422036e-1F));
  y = V::fma(y, square, V::all(-3.33332819422e-1F));
  const Floats near = V::fma(V::mul(y, square), x, x);
  const Floats e = exp<V>(V::mul(size, V::all(-2.0F)));
  const Floats far = V::div(V::sub(V::all(1.0F), e), V::add(V::all(1.0F), e));
  const Floats signed_far = V::where_less(x, V::all(0.0F), V::sub(V::all(0.0F), far), far);
  return V::where_less(size, V::all(0.625F), near, signed_far);
}

}  // namespace posenc::kernels
