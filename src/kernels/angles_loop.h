// The angle kernel, written once over a vector of doubles V and compiled once per instruction set.
//
// In turns, an angle is x t with t = inv_freq / 2 pi = hi + lo + lowest, three doubles that do not overlap.
//
//   q = x t to the nearest quarter turn   by adding 1.5 * 2^50, where doubles are multiples of 1/4; the two low bits of
//                                         the sum are the quadrant
//   r = ((x hi - q) + x lo) + x lowest    |r| <= 1/8 turn, with a small relative error beside zeros too: the difference
//                                         is exact, or does not cancel (docs/angles.md)
//   cos, sin of 2 pi r                    polynomials in double, the factor inside their coefficients, one rounding
//
// Far, beyond near_limit, whole turns are taken off first, and the quarter turn is chosen with x lo in view: x lo grows
// to an eighth of a turn, and from 2^49 turns the sum with 1.5 * 2^50 leaves the numbers whose spacing is 1/4. The far
// loop gives a near x the very bits of the near loop, so a row depends neither on its neighbours nor on whether
// positions come per row or per pair.
//
// Tried: two parts instead of three gain 10 % and lose the promise; with them a frequency made for the purpose is 6 ulp
// off at position 2^20. Far everywhere costs 25 %.
#pragma once

#include "kernels/angles_coefficients.h"
#include "kernels/kernels.h"

namespace posenc::kernels {

constexpr double kToWholeTurns = 0x1.8p52;    // a double near it is a multiple of 1
constexpr double kToQuarterTurns = 0x1.8p50;  // and near this one of 1/4

template <class V>
struct Polynomials {
  using D = typename V::Doubles;
  D cosine[5];
  D sine[5];
};

template <class V>
Polynomials<V> polynomials(double factor) noexcept {
  Polynomials<V> out;
  for (int k = 0; k < 5; ++k) {
    out.cosine[k] = V::all(factor * kCosine[k]);
    out.sine[k] = V::all(factor * kSine[k]);
  }
  return out;
}

template <class V>
struct Reduced {
  typename V::Doubles r;         // turns off the nearest quarter turn
  typename V::Doubles quadrant;  // its number, in the two lowest bits of the pattern
};

template <class V>
struct Turns {
  typename V::Doubles hi;
  typename V::Doubles lo;
  typename V::Doubles lowest;
};

template <class V>
typename V::Doubles remainder(typename V::Doubles x, Turns<V> t, typename V::Doubles q) noexcept {
  return V::fma(x, t.lowest, V::product_add(x, t.lo, V::product_sub(x, t.hi, q)));
}

template <class V>
Reduced<V> reduce_near(typename V::Doubles x, Turns<V> t) noexcept {
  using D = typename V::Doubles;
  const D to_quarter = V::all(kToQuarterTurns);
  const D sum = V::fma(x, t.hi, to_quarter);
  return {remainder<V>(x, t, V::sub(sum, to_quarter)), sum};
}

template <class V>
Reduced<V> reduce_far(typename V::Doubles x, Turns<V> t, typename V::Doubles near_limit) noexcept {
  using D = typename V::Doubles;
  const D to_whole = V::all(kToWholeTurns);
  const D to_quarter = V::all(kToQuarterTurns);
  const D is_far = V::sub(near_limit, V::magnitude(x));
  const D x_far = V::select_by_sign(is_far, x, V::all(0.0));
  const D whole = V::sub(V::fma(x_far, t.hi, to_whole), to_whole);
  const D part = V::product_add(x_far, t.lo, V::product_sub(x_far, t.hi, whole));
  const D sum = V::select_by_sign(is_far, V::add(part, to_quarter), V::fma(x, t.hi, to_quarter));
  return {remainder<V>(x, t, V::add(whole, V::sub(sum, to_quarter))), sum};
}

template <class V>
typename V::Doubles horner(const typename V::Doubles (&c)[5], typename V::Doubles z) noexcept {
  return V::fma(V::fma(V::fma(V::fma(c[4], z, c[3]), z, c[2]), z, c[1]), z, c[0]);
}

// Writes up to V::kLanes values; `count` of them when kWhole is false.
template <class V, bool kWhole>
void write(const Polynomials<V>& p, Reduced<V> angle, float* cos, float* sin, std::int64_t count) noexcept {
  using D = typename V::Doubles;
  const D z = V::mul(angle.r, angle.r);
  const D c = horner<V>(p.cosine, z);
  const D s = V::mul(horner<V>(p.sine, z), angle.r);
  // Quadrants 0 1 2 3: cos = c -s -c s, sin = s c -s -c. Odd ones swap; bit 1 turns the sign, for cos bit 1 xor bit 0.
  const D odd = V::template shift_left<63>(angle.quadrant);
  const D upper = V::template shift_left<62>(angle.quadrant);
  const D cos_out = V::flip_sign(V::bit_xor(V::select_by_sign(odd, s, c), odd), upper);
  const D sin_out = V::flip_sign(V::select_by_sign(odd, c, s), upper);
  if constexpr (kWhole) {
    V::store_floats(cos, cos_out);
    V::store_floats(sin, sin_out);
  } else {
    V::store_some_floats(cos, cos_out, count);
    V::store_some_floats(sin, sin_out, count);
  }
}

template <class V, bool kPerPair, bool kFar, bool kWhole>
void piece(const AngleRows& a, const Polynomials<V>& polynomials, std::int64_t row, std::int64_t p) noexcept {
  using D = typename V::Doubles;
  const std::int64_t count = kWhole ? V::kLanes : a.pairs - p;
  const double* at = a.x + row * a.x_stride;
  const D x = !kPerPair ? V::all(*at) : kWhole ? V::load(at + p) : V::load_some(at + p, count);
  const Turns<V> turns{V::load(a.hi + p), V::load(a.lo + p), V::load(a.lowest + p)};
  Reduced<V> angle;
  if constexpr (kFar) {
    angle = reduce_far<V>(x, turns, V::all(a.near_limit));
  } else {
    angle = reduce_near<V>(x, turns);
  }
  write<V, kWhole>(polynomials, angle, a.cos + row * a.out_stride + p, a.sin + row * a.out_stride + p, count);
}

template <class V, bool kPerPair, bool kFar>
void one_row(const AngleRows& a, const Polynomials<V>& polynomials, std::int64_t row) noexcept {
  std::int64_t p = 0;
  for (; p + V::kLanes <= a.pairs; p += V::kLanes) piece<V, kPerPair, kFar, true>(a, polynomials, row, p);
  if (p < a.pairs) piece<V, kPerPair, kFar, false>(a, polynomials, row, p);
}

template <class V>
void angles(const AngleRows& a) noexcept {
  const Polynomials<V> made = polynomials<V>(a.factor);
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const double x = a.x[row * a.x_stride];
    if (a.per_pair) {
      one_row<V, true, true>(a, made, row);
    } else if (x > a.near_limit || x < -a.near_limit) {
      one_row<V, false, true>(a, made, row);
    } else {
      one_row<V, false, false>(a, made, row);
    }
  }
}

}  // namespace posenc::kernels
