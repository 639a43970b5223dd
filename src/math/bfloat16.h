// Rounding to bfloat16, to nearest, ties to even, in double: for tables that bf16 models run with (Angles::bfloat16)
// and for Falcon's ALiBi (scores.h). bfloat16 has 8 bits of mantissa, the implicit one counted, and float's exponents.
#pragma once

#include <cmath>

namespace posenc::math {

// Of numbers in bfloat16's normal range.
inline double rounded_to_bfloat16(double x) {
  if (x == 0.0) return x;
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);  // 8 bits of it: mantissa * 2^8 is whole
  return std::ldexp(std::nearbyint(mantissa * 256.0), exponent - 8);
}

}  // namespace posenc::math
