// Biases that depend on the distance alone, or on it and the query's position (FIRE), in double. Two overloads for each
// scheme, the term and its transpose; the formulas and their derivatives are in src/math/score.
//
//   ALiBi arXiv 2108.12409, T5 1910.10683, KERPLE 2205.09921, FIRE 2310.04418, Sandwich 2212.10356, windows 2103.14030
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/formatted.h"
#include "math/score/alibi.h"
#include "math/score/fire.h"
#include "math/score/gates.h"
#include "math/score/kerple.h"
#include "posenc/reference.h"
#include "posenc/scores.h"
#include "reference/score_terms.h"

namespace posenc::inline v0_2::reference {
namespace {

// i - j; positions of schemes with tables are checked to be whole.
std::int64_t whole_distance(const Row& row, std::int64_t j, std::int64_t axis = 0) {
  return static_cast<std::int64_t>(row.distance(j, axis));
}

// Of y = W x + b: adds to the gradients of W and b under that name, and returns that of x.
std::vector<double> linear_backward(const std::string& name, const Linear& linear, std::span<const double> x,
                                    std::span<const double> d, NamedSums& learned) {
  std::vector<double> out(x.size());
  for (std::size_t r = 0; r < d.size(); ++r) {
    const auto row = static_cast<std::int64_t>(r);
    learned.add(name + ".bias", {row}, d[r]);
    for (std::size_t c = 0; c < x.size(); ++c) {
      const auto column = static_cast<std::int64_t>(c);
      learned.add(name + ".weight", {row, column}, d[r] * x[c]);
      out[c] += d[r] * element(linear.weight, {row, column});
    }
  }
  return out;
}

// d in place h of so many, 0 in all others.
std::vector<double> at_head(double d, std::int64_t h, std::int64_t heads) {
  std::vector<double> out(index(heads));
  out[index(h)] = d;
  return out;
}

// Row 0 of the table is the distance -future, the last row `past`.
std::int64_t clipped_row(const ClippedBias& scheme, const Row& row, std::int64_t j) {
  return std::clamp(whole_distance(row, j), -scheme.future, scheme.past) + scheme.future;
}

// The numbers of each layer of a perceptron: what goes in first, then what each layer gives, before SiLU.
std::vector<std::vector<double>> perceptron(const std::vector<Linear>& layers, double x) {
  std::vector<std::vector<double>> out{{x}};
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    std::vector<double> in = out.back();
    for (double& y : in) y = layer == 0 ? y : math::silu(y);
    out.push_back(transformed(layers[layer], in));
  }
  return out;
}

}  // namespace

double term(const Alibi& scheme, const ScoreWeights&, const Row& row, std::int64_t j) {
  const double bias = alibi_bias(scheme, alibi_slopes(scheme)[index(row.h)], row.q_coordinate(), row.k_coordinate(j));
  return scheme.scaled ? row.layer.softmax_scale * bias : bias;
}

void term_backward(const Alibi& scheme, const ScoreWeights&, const Row& row, std::int64_t j, double d,
                   TermGradient& to) {
  const double by_slope = math::alibi_slope_derivative(scheme, row.q_coordinate(), row.k_coordinate(j));
  to.learned.add("slopes", {row.h}, d * (scheme.scaled ? row.layer.softmax_scale : 1.0) * by_slope);
}

// The gate (WavLM) is a number per query and head that the caller computes from hidden states.
double term(const T5Bias& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const ConstTensorView& table = std::get<T5Weights>(weights).table;
  const double learned = element(table, {t5_bucket(scheme, whole_distance(row, j, scheme.axis)), row.h});
  const double bias = scheme.scaled ? row.layer.softmax_scale * learned : learned;
  if (!scheme.gated) return bias;
  return bias * element(row.args.inputs.row_gate, {row.sequence.q.first_row + row.i, row.h});
}

void term_backward(const T5Bias& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j, double d,
                   TermGradient& to) {
  const std::int64_t bucket = t5_bucket(scheme, whole_distance(row, j, scheme.axis));
  if (scheme.scaled) d *= row.layer.softmax_scale;
  if (scheme.gated) {
    const std::int64_t query = row.sequence.q.first_row + row.i;
    to.row.sums.row_gate.add({query, row.h}, d * element(std::get<T5Weights>(weights).table, {bucket, row.h}));
    d *= element(row.args.inputs.row_gate, {query, row.h});
  }
  to.learned.add("table", {bucket, row.h}, d);
}

double term(const ClippedBias& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  return element(std::get<ClippedBiasWeights>(weights).table, {clipped_row(scheme, row, j), row.h});
}

void term_backward(const ClippedBias& scheme, const ScoreWeights&, const Row& row, std::int64_t j, double d,
                   TermGradient& to) {
  to.learned.add("table", {clipped_row(scheme, row, j), row.h}, d);
}

double term(const GridBias& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const std::int64_t place = grid_row(scheme, whole_distance(row, j, 0), whole_distance(row, j, 1));
  return element(std::get<GridBiasWeights>(weights).table, {place, row.h});
}

void term_backward(const GridBias& scheme, const ScoreWeights&, const Row& row, std::int64_t j, double d,
                   TermGradient& to) {
  to.learned.add("table", {grid_row(scheme, whole_distance(row, j, 0), whole_distance(row, j, 1)), row.h}, d);
}

double term(const Kerple& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const auto& learned = std::get<KerpleWeights>(weights);
  return kerple_bias(scheme, element(learned.r1, {row.h}), element(learned.r2, {row.h}), row.distance(j));
}

void term_backward(const Kerple& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j, double d,
                   TermGradient& to) {
  const auto& learned = std::get<KerpleWeights>(weights);
  const math::KerpleDerivatives by =
      math::kerple_derivatives(scheme, element(learned.r1, {row.h}), element(learned.r2, {row.h}), row.distance(j));
  to.learned.add("r1", {row.h}, d * by.r1);
  to.learned.add("r2", {row.h}, d * by.r2);
}

// A perceptron with one hidden layer, ReLU between, of psi(i - j) / psi(max(L, i)).
double term(const Fire&, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const auto& learned = std::get<FireWeights>(weights);
  const double asked = fire_input(learned.c, learned.threshold, row.distance(j), row.q_coordinate());
  std::vector<double> hidden = transformed(learned.hidden, std::vector{asked});
  for (double& x : hidden) x = std::max(x, 0.0);
  return transformed(learned.out, hidden)[index(row.h)];
}

// Through the perceptron to what it is asked, and from there to c and L.
void term_backward(const Fire&, const ScoreWeights& weights, const Row& row, std::int64_t j, double d,
                   TermGradient& to) {
  const auto& learned = std::get<FireWeights>(weights);
  const double asked = fire_input(learned.c, learned.threshold, row.distance(j), row.q_coordinate());
  const std::vector<double> before = transformed(learned.hidden, std::vector{asked});
  std::vector<double> hidden = before;
  for (double& x : hidden) x = std::max(x, 0.0);
  std::vector<double> by_hidden =
      linear_backward("out", learned.out, hidden, at_head(d, row.h, row.layer.heads), to.learned);
  for (std::size_t w = 0; w < before.size(); ++w) by_hidden[w] = before[w] > 0.0 ? by_hidden[w] : 0.0;
  const double by_asked = linear_backward("hidden", learned.hidden, std::vector{asked}, by_hidden, to.learned)[0];
  const math::FireDerivatives by =
      math::fire_derivatives(learned.c, learned.threshold, row.distance(j), row.q_coordinate());
  to.learned.add("c", {0}, by_asked * by.c);
  to.learned.add("threshold", {0}, by_asked * by.threshold);
}

double term(const Sandwich& scheme, const ScoreWeights&, const Row& row, std::int64_t j) {
  return sandwich_bias(scheme, row.h, row.distance(j));
}

// Nothing of it is learned.
void term_backward(const Sandwich&, const ScoreWeights&, const Row&, std::int64_t, double, TermGradient&) {}

double term(const MlpBias& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const std::vector<Linear>& layers = std::get<MlpBiasWeights>(weights).layers;
  return perceptron(layers, mlp_input(scheme, row.distance(j))).back()[index(row.h)];
}

void term_backward(const MlpBias& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j, double d,
                   TermGradient& to) {
  const std::vector<Linear>& layers = std::get<MlpBiasWeights>(weights).layers;
  const std::vector<std::vector<double>> numbers = perceptron(layers, mlp_input(scheme, row.distance(j)));
  std::vector<double> by = at_head(d, row.h, row.layer.heads);
  for (std::size_t layer = layers.size(); layer-- > 0;) {
    std::vector<double> in = numbers[layer];
    for (double& y : in) y = layer == 0 ? y : math::silu(y);
    by = linear_backward(formatted("layers.{}", layer), layers[layer], in, by, to.learned);
    for (std::size_t w = 0; w < by.size() && layer > 0; ++w) by[w] *= math::silu_derivative(numbers[layer][w]);
  }
}

}  // namespace posenc::inline v0_2::reference
