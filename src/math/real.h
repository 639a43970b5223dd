// The arithmetic in which a scaling rule is computed, so that each formula stands once for double and for float.
//
// Float steps follow torch: +, -, *, / of two floats are rounded once by the processor, and a Python scalar (a double)
// is rounded to float where it meets a tensor: `real<Real>(scalar)` in the rules is that rounding. The power is the one
// step that libraries round differently: this one goes through double (elementary.h), is within 0.5 ulp + 2^-28 ulp and
// the same on every processor; torch's vectorised one (SLEEF) promises 1 ulp.
#pragma once

#include <concepts>
#include <cstdint>

#include "math/elementary.h"

namespace posenc::math {

// A scalar as torch sees it beside a tensor of Real.
template <std::floating_point Real>
constexpr Real real(double scalar) noexcept {
  return static_cast<Real>(scalar);
}

template <std::floating_point Real>
constexpr Real real(std::int64_t scalar) noexcept {
  return static_cast<Real>(scalar);
}

inline float power(float base, float exponent) noexcept {
  return static_cast<float>(power(static_cast<double>(base), static_cast<double>(exponent)));
}

}  // namespace posenc::math
