// Biases that are sums along the row, from the key up to the query, so that each key between them counts, in double:
// CoPE, arXiv 2405.18719, and the forgetting transformer's gates, arXiv 2503.02130.
#include <algorithm>
#include <cmath>
#include <vector>

#include "posenc/reference.h"
#include "reference/score_terms.h"

namespace posenc::inline v0_2::reference {

// p_ij = sum over the keys l from j to i that the query sees, j with them, of sigmoid(x_il); q_i . E[p_ij], between
// rows by interpolation. The gates are made of scores with their scale; this term has none.
// Quadratic in the keys of a row; lowered_scores.cpp sums once from the last key.
double term(const ContextualPosition& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const ConstTensorView& table = std::get<CopeWeights>(weights).table;
  const std::vector<std::int64_t>& order = row.sequence.k.order;
  double p = 0.0;
  for (std::size_t l = 0; l < row.x.size(); ++l) {
    if (row.seen[l] && order[l] >= order[index(j)]) p += 1.0 / (1.0 + std::exp(-row.x[l]));
  }
  if (std::isnan(p)) return p;  // of a score that is NaN: no row is beside it
  p = std::min(p, static_cast<double>(scheme.positions - 1));
  const auto below = static_cast<std::int64_t>(std::floor(p));
  const auto above = static_cast<std::int64_t>(std::ceil(p));
  const double share = p - static_cast<double>(below);
  double out = 0.0;
  for (std::int64_t c = 0; c < row.layer.head_dim; ++c) {
    out += row.q[index(c)] * ((1.0 - share) * element(table, {below, c}) + share * element(table, {above, c}));
  }
  return out;
}

// In the call's bias.
double term(const DistanceLogits&, const ScoreWeights&, const Row&, std::int64_t) { return 0.0; }

// The sum of ln f_l over keys l after j, up to the query; nothing for a key in the future.
double term(const ForgetGate&, const ScoreWeights&, const Row& row, std::int64_t j) {
  const std::vector<std::int64_t>& order = row.sequence.k.order;
  const std::int64_t query = row.sequence.q.order[index(row.i)];
  double sum = 0.0;
  for (std::int64_t l = 0; l < row.keys(); ++l) {
    if (order[index(l)] <= order[index(j)] || order[index(l)] > query) continue;
    sum += element(row.args.inputs.log_forget, {row.sequence.k.first_row + l, row.h});
  }
  return sum;
}

}  // namespace posenc::inline v0_2::reference
