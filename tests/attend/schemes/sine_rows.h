// What the programs of Transformer-XL, XLNet and the Conformers share: rows of sines for a list of distances, their
// products with queries, and how far two ways to make these may be apart.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "attend/fused/matrix.h"
#include "support/tolerances.h"

namespace posenc::test {

// PositionalEmbedding.forward: the outer product of distances and 1 / 10000^(2p/channels). Sines, then cosines; or in
// rotate.
inline Matrix sine_rows(const std::vector<double>& distances, std::int64_t channels, bool in_turn = false) {
  Matrix out{.rows = std::ssize(distances), .columns = channels};
  const std::int64_t half = channels / 2;
  for (std::int64_t row = 0; row < out.rows; ++row) {
    for (std::int64_t p = 0; p < half; ++p) {
      const double inv_freq = 1 / std::pow(10000.0, static_cast<double>(2 * p) / static_cast<double>(channels));
      const double angle = distances[static_cast<std::size_t>(row)] * inv_freq;
      out(row, in_turn ? 2 * p : p) = std::sin(angle);
      out(row, in_turn ? 2 * p + 1 : half + p) = std::cos(angle);
    }
  }
  return out;
}

// Rows `head_dim h` to `head_dim (h + 1)` of W, as [channels, head_dim].
inline Matrix projection_of(const Tensor& w, std::int64_t h, std::int64_t head_dim) {
  return transposed(rows_of(matrix_of(w), h * head_dim, head_dim));
}

// Head h of a bias [heads, head_dim], or zeros.
inline std::vector<double> bias_of(const Tensor& bias, std::int64_t h, bool is_there = true) {
  const auto first = bias.values.begin() + h * bias.shape[1];
  return is_there ? std::vector<double>(first, first + bias.shape[1])
                  : std::vector<double>(static_cast<std::size_t>(bias.shape[1]));
}

// scale (query . projection^T row + rest), the row that of the distance t, the projection [channels, head_dim] of whole
// numbers. `rest`: the sum of the magnitudes of what is added.
inline double sine_rows_bound(const Matrix& query, const Matrix& projection, std::int64_t t, double rest, double scale,
                              bool in_turn = false) {
  const std::int64_t rungs = projection.rows / 2;
  std::vector<double> gains(static_cast<std::size_t>(rungs));
  double size = rest;
  for (std::int64_t channel = 0; channel < projection.rows; ++channel) {
    double magnitude = 0.0;
    for (std::int64_t c = 0; c < query.columns; ++c) magnitude += std::abs(query(0, c) * projection(channel, c));
    gains[static_cast<std::size_t>(in_turn ? channel / 2 : channel % rungs)] += magnitude;
    size += magnitude;
  }
  const auto roundings = static_cast<double>(projection.rows + query.columns + 1);
  return scale * sines_score_bound(gains, static_cast<double>(t), size, roundings);
}

}  // namespace posenc::test
