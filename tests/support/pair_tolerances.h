// Tolerances of products of bfloat16 (src/kernels/pairs.h), in the terms of tolerances.h, of which this is a part.
#pragma once

#include <cmath>

#include "support/tolerances.h"

namespace posenc::test {

// A number rounded to 8 significant bits, relatively.
inline constexpr double kPairRounding = 0x1p-8;

// What is smaller counts as 0.
inline constexpr double kLeastPaired = 0x1p-126;

// c scale + by sum a b, numbers whose magnitudes add up to `size`: products are exact, each of `depth` partial sums is
// rounded, or made 0 where it is least; c times scale and the sum times by once more.
inline double paired_product(double size, double depth) {
  return (summed_in_floats(depth) + 2) * size * kFloatRounding + depth * kLeastPaired;
}

// A score whose factors may be rounded first, both of them: products of (1 + d)(1 + e).
inline double paired_score(double size, bool rounds) {
  return rounds ? size * (2 * kPairRounding + kPairRounding * kPairRounding) : 0.0;
}

// What rounding adds to an output whose scores may be off by `score`. A weight p_j is multiplied with exp(x_j), |x_j|
// at most x: the score's error, and the weight's own rounding. The output is a mean with either weights, so with any c
//
//   |sum p_j (exp(x_j) - c) (v_j - out)| / sum p_j exp(x_j) <= sinh(x) exp(x) sum p_j |v_j - out|        (c = cosh(x))
//
// and of numbers in a range the mean distance from their mean is at most half of it. `values`: the largest, where
// values are rounded too, or 0.
inline double paired_output(double score, double half_range, double values) {
  return std::expm1(2 * (score + kPairRounding)) / 2 * half_range + kPairRounding * values;
}

}  // namespace posenc::test
