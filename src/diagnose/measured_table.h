// What was measured of each token and pair over its heads: y_h = c x_h, in complex numbers, by least squares,
//
//   c = sum_h conj(x_h) y_h / w,   w = sum_h |x_h|^2,   left: sum_h |y_h - c x_h|^2
//
// so that a hypothesis z leaves sum w |z - c|^2 more than what is left anyhow. c is s e^(i theta): an angle and a
// factor. Beside it the same of conj(x), which a reflection leaves least of.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "diagnose/channel_pairs.h"
#include "diagnose/samples.h"

namespace posenc::inline v0_2::port {

struct MeasuredTable {
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;
  std::size_t rows = 0;
  std::size_t pairs = 0;
  std::vector<std::complex<double>> c;  // [rows, pairs]
  std::vector<double> angle;            // [rows, pairs], arg c
  std::vector<double> weight;           // [rows, pairs]
  std::vector<double> factor;           // [pairs]: s, the weighted mean of |c|

  // Sums of squares that no angle explains, of each pair and of each row: over heads, and |c| against the factor.
  std::vector<double> pair_rest, row_rest;
  std::vector<double> pair_between, row_between;  // of these, what heads do not share: without |c| against the factor
  double pair_freedom = 0.0;                      // of one pair; of a row it is that times pairs over rows
  double row_freedom = 0.0;

  // Variance of the noise of an element in a cell of weight w: the larger of a part that all have in common and of one
  // that goes with the weight, as rounding does. Medians over pairs, so that one pair that is no rotation stands out.
  double common = 0.0;
  double by_weight = 0.0;
  double variance(std::size_t cell) const { return std::max(common, by_weight * weight[cell]); }

  double energy = 0.0;        // of all of after
  double outside_rest = 0.0;  // sum of squares by which channels outside the pairs changed
  double outside_count = 0.0;
  double reflected_rest = 0.0;  // as the sum of pair_rest, of conj(x)
  double after_unit = 0.0;

  std::size_t at(std::size_t row, std::size_t pair) const { return row * pairs + pair; }
};

// `channel_scale`, [channels] or empty, and `vector_scale`, [rows * heads] or empty, multiply x first.
struct Scales {
  std::vector<double> before{};   // of x, by channel
  std::vector<double> after{};    // of y, by channel
  std::vector<double> vectors{};  // of x, by row and head
};

MeasuredTable measure(const Samples& samples, const ChannelPairs& pairs, const Scales& scales = {});

}  // namespace posenc::inline v0_2::port
