// Tolerances of derivatives: as in tolerances.h, a formula with its derivation each.
#pragma once

#include "support/tolerances.h"

namespace posenc::test {

// L = sum d_out out + sum d_lse lse in double: how far it is from real numbers. A score of size `scores` is a product
// of `channels` roundings, of vectors that projections or perceptrons of at most 16 channels made, and some 8 more of
// its terms, each of its size at most; a weight moves by as much, relatively, so does an output, and the lse
// absolutely. The rows' errors are independent of each other: they add up as squares do. out, lse: the root of the sum
// of squares of d_out, times the largest output, and of d_lse.
inline double loss_rounding(double out, double lse, double scores, double channels) {
  return (out + lse) * scores * (channels + 16 + 8) * kDoubleRounding;
}

// A derivative by central differences D(h) = (L(h) - L(-h)) / 2h, extrapolated: (4 D(h) - D(2h)) / 3, in which the
// error of order h^2 cancels; what is left is of order h^4, 2^-53 of a fifth derivative (4 h^4 / 120 of it). Each L is
// off by `rounding`: 4/3 / h + 1/3 / 2h.
inline constexpr double kDifferenceStep = 0x1p-12;
inline double difference_bound(double rounding, double step) { return 1.5 * rounding / step; }

}  // namespace posenc::test
