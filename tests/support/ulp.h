// Distances in units of the last place of float.
#pragma once

#include <algorithm>
#include <cmath>

#include "support/real.h"

namespace posenc::test {

// The spacing of floats at |x|: 2^-149 for zero and subnormal numbers.
inline double float_ulp(double x) {
  int exponent = 0;
  std::frexp(x, &exponent);  // |x| in [2^(exponent - 1), 2^exponent)
  return x == 0.0 ? 0x1p-149 : std::ldexp(1.0, std::max(exponent - 24, -149));
}

inline double absolute_error(float value, Pair truth) {
  return std::abs((static_cast<double>(value) - truth.hi) - truth.lo);
}

inline double ulp_error(float value, Pair truth) { return absolute_error(value, truth) / float_ulp(truth.hi); }

}  // namespace posenc::test
