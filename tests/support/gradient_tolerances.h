// Tolerances of derivatives: as in tolerances.h, a formula with its derivation each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

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

// ---- Gradients in floats (attend_backward) ----

// A rounding on the way to a gradient is, to first order, a move of the numbers that were rounded, and these were made
// of q, k, v, d_out, d_lse, tables and inputs: so kernels give what the reference gives of numbers that have moved a
// little.
// `sensitivity`: how far a gradient's elements move at the most, where each of those numbers moves by as much of itself
// up or down, over as much; of kGradientDraws draws of signs. How much: a score, or dL/dp, is a sum over `channels`, a
// gradient one over `length` tokens, whose roundings add up as independent ones do, to the root of their number; some
// 12 more are of the rotation (cos, sin, products, sum), the scales, a term, the cap, the exponential, and dL/dz. A
// weight exp(z - lse) is off relatively by as much as z and lse are absolutely: both are rounded at the size of
// `scores`, z once more as it grows by its terms. A sum is rounded itself too: as it is at its largest, `largest`. An
// output that is stored in 16 bits is rounded to these before it meets d_out.
inline constexpr std::uint64_t kGradientDraws = 3;
inline constexpr double kGradientStep = 0x1p-20;
struct GradientSizes {
  double channels = 0.0;
  double length = 0.0;
  double scores = 0.0;  // the largest lse
};
inline double fused_gradient(double sensitivity, double largest, const GradientSizes& sizes, DType dtype) {
  const double roundings = std::sqrt(sizes.channels) + std::sqrt(sizes.length) + 12 + 3 * sizes.scores;
  const double stored = dtype == DType::f32 ? 0.0 : rounding_error(dtype, 1.0);
  return (roundings * kFloatRounding + stored) * (sensitivity + largest);
}

// A gradient whose sum is of `terms` products, taken in another order: each is rounded once more or less, at the size
// of the tensor's largest.
inline double reordered_gradient(std::int64_t terms, double largest) {
  return static_cast<double>(terms) * kFloatRounding * largest;
}

// The same of attend_linear_backward, which has no scores: a product of features carries `features` roundings of each
// factor (feature_in_floats), and its sum goes over the channels and, chunk by chunk, the tokens; some 12 more are of
// the rotation, the denominator, which is divided by once and again, and what it takes from the numerator.
inline double linear_gradient(double sensitivity, double largest, const GradientSizes& sizes, double features) {
  const double roundings = std::sqrt(sizes.channels) + std::sqrt(sizes.length) + 12 + 2 * features;
  return roundings * kFloatRounding * (sensitivity + largest);
}

// ---- Keys out of a cache (src/kernels/norm_loop.h) ----

// The errors of dx = f (g - n s), s = sum(g n) / divisor, g = d weight, less its mean for `layer`; x, its normalised n
// and d with errors of their own.
//   The factor f: an error of it is one of every n, so that none of those, relatively, is smaller.
//   g: weight + 1 is rounded, and the product. Less its mean: as in normalised_errors.
//   s: what g and n are off, each times the other; its roundings as in normalised_errors, of |g n|; one to float.
//   One rounding of g - n s, one of f, one of the last product. Products of two errors are below 2^-10 of them.
inline std::vector<double> norm_gradient_errors(const Row& x, const Row& n, const Row& d, const QkNorm& norm,
                                                double epsilon, const std::vector<double>& weight, double lanes) {
  const std::size_t count = x.values.size();
  const auto channels = static_cast<double>(count);
  const double roundings = std::ceil(channels / (4 * lanes)) + 2;
  const bool centred = norm.kind == QkNorm::Kind::layer;
  const double divisor = norm.kind == QkNorm::Kind::l2 ? 1.0 : channels;
  double mean = 0.0;
  for (const double y : x.values) mean += centred ? y / channels : 0.0;
  double squares = 0.0;
  for (const double y : x.values) squares += (y - mean) * (y - mean);
  const double factor = 1 / std::sqrt(squares / divisor + epsilon);
  double factor_error = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < count; ++i) factor_error = std::min(factor_error, n.errors[i] / std::abs(n.values[i]));

  Row g;
  double g_mean = 0.0;
  double g_mean_error = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    g.values.push_back(d.values[i] * weight[i]);
    g.errors.push_back(std::abs(weight[i]) * d.errors[i] + 2 * std::abs(g.values[i]) * kFloatRounding);
    g_mean += centred ? g.values[i] / channels : 0.0;
    g_mean_error += centred ? g.errors[i] / channels : 0.0;
  }
  double deviations = 0.0;
  for (double& y : g.values) {
    y -= g_mean;
    deviations += y * y / channels;
  }
  double sum = 0.0;
  double sum_error = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    if (centred) {
      g.errors[i] += g_mean_error + (2 * std::abs(g.values[i]) + roundings * std::sqrt(deviations)) * kFloatRounding;
    }
    const double product = std::abs(g.values[i] * n.values[i]);
    sum += g.values[i] * n.values[i] / divisor;
    sum_error += (g.errors[i] * std::abs(n.values[i]) + std::abs(g.values[i]) * n.errors[i] +
                  roundings * product * kFloatRounding) /
                 divisor;
  }
  sum_error += std::abs(sum) * kFloatRounding;
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) {
    const double rest = std::abs(g.values[i] - n.values[i] * sum);
    const double off = g.errors[i] + std::abs(n.values[i]) * sum_error + std::abs(sum) * n.errors[i];
    out.push_back(factor * (off + rest * (factor_error + 3 * kFloatRounding)) * (1 + 0x1p-10));
  }
  return out;
}

// A norm's weight gradient: the sum of d n over tokens and heads, at most 64 of them one after another in f32.
inline double weight_gradient_error(double products, double errors, double tokens) {
  return errors + (std::min(tokens, 64.0) * kFloatRounding + 64 * kDoubleRounding) * products;
}

}  // namespace posenc::test
