// Biases that depend on the distance alone, or on it and the query's position (FIRE), in double. One overload for each
// scheme; the formulas are in src/math/score.
//
//   ALiBi arXiv 2108.12409, T5 1910.10683, KERPLE 2205.09921, FIRE 2310.04418, Sandwich 2212.10356, windows 2103.14030
#include <algorithm>
#include <cmath>
#include <vector>

#include "posenc/reference.h"
#include "posenc/scores.h"
#include "reference/score_terms.h"

namespace posenc::inline v0_2::reference {
namespace {

// i - j; positions of schemes with tables are checked to be whole.
std::int64_t whole_distance(const Row& row, std::int64_t j, std::int64_t axis = 0) {
  return static_cast<std::int64_t>(row.distance(j, axis));
}

double silu(double x) { return x / (1.0 + std::exp(-x)); }

}  // namespace

double term(const Alibi& scheme, const ScoreWeights&, const Row& row, std::int64_t j) {
  const double bias = alibi_bias(scheme, alibi_slopes(scheme)[index(row.h)], row.q_coordinate(), row.k_coordinate(j));
  return scheme.scaled ? row.layer.softmax_scale * bias : bias;
}

// The gate (WavLM) is a number per query and head that the caller computes from hidden states.
double term(const T5Bias& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const ConstTensorView& table = std::get<T5Weights>(weights).table;
  const double learned = element(table, {t5_bucket(scheme, whole_distance(row, j, scheme.axis)), row.h});
  const double bias = scheme.scaled ? row.layer.softmax_scale * learned : learned;
  if (!scheme.gated) return bias;
  return bias * element(row.args.inputs.row_gate, {row.sequence.q.first_row + row.i, row.h});
}

// Row 0 of the table is the distance -future, the last row `past`.
double term(const ClippedBias& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const std::int64_t clipped = std::clamp(whole_distance(row, j), -scheme.future, scheme.past);
  return element(std::get<ClippedBiasWeights>(weights).table, {clipped + scheme.future, row.h});
}

double term(const GridBias& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const std::int64_t place = grid_row(scheme, whole_distance(row, j, 0), whole_distance(row, j, 1));
  return element(std::get<GridBiasWeights>(weights).table, {place, row.h});
}

double term(const Kerple& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const auto& learned = std::get<KerpleWeights>(weights);
  return kerple_bias(scheme, element(learned.r1, {row.h}), element(learned.r2, {row.h}), row.distance(j));
}

// A perceptron with one hidden layer, ReLU between, of psi(i - j) / psi(max(L, i)).
double term(const Fire&, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const auto& learned = std::get<FireWeights>(weights);
  const double asked = fire_input(learned.c, learned.threshold, row.distance(j), row.q_coordinate());
  std::vector<double> hidden = transformed(learned.hidden, std::vector{asked});
  for (double& x : hidden) x = std::max(x, 0.0);
  return transformed(learned.out, hidden)[index(row.h)];
}

double term(const Sandwich& scheme, const ScoreWeights&, const Row& row, std::int64_t j) {
  return sandwich_bias(scheme, row.h, row.distance(j));
}

double term(const MlpBias& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const std::vector<Linear>& layers = std::get<MlpBiasWeights>(weights).layers;
  std::vector<double> x{mlp_input(scheme, row.distance(j))};
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    x = transformed(layers[layer], x);
    if (layer + 1 == layers.size()) break;
    for (double& y : x) y = silu(y);
  }
  return x[index(row.h)];
}

}  // namespace posenc::inline v0_2::reference
