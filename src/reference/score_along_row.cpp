// Biases that are sums along the row, from the key up to the query, so that each key between them counts, in double:
// CoPE, arXiv 2405.18719, and the forgetting transformer's gates, arXiv 2503.02130; with their transposes.
#include <cmath>
#include <vector>

#include "math/score/cope.h"
#include "math/score/gates.h"
#include "posenc/reference.h"
#include "reference/score_terms.h"

namespace posenc::inline v0_2::reference {

namespace {

// Keys from j to the query, j with them: their gates count.
bool is_counted(const Row& row, std::size_t l, std::int64_t j) {
  const std::vector<std::int64_t>& order = row.sequence.k.order;
  return row.seen[l] && order[l] >= order[index(j)];
}

double sum_of_gates(const Row& row, std::int64_t j) {
  double p = 0.0;
  for (std::size_t l = 0; l < row.x.size(); ++l) {
    if (is_counted(row, l, j)) p += math::logistic(row.x[l]);
  }
  return p;
}

// Tokens after key j up to the query, whose gates forget it; none for a key in the future.
bool forgets(const Row& row, std::int64_t l, std::int64_t j) {
  const std::vector<std::int64_t>& order = row.sequence.k.order;
  return order[index(l)] > order[index(j)] && order[index(l)] <= row.sequence.q.order[index(row.i)];
}

}  // namespace

// p_ij = sum over the keys l from j to i that the query sees, j with them, of sigmoid(x_il); q_i . E[p_ij], between
// rows by interpolation. The gates are made of scores with their scale; this term has none.
// Quadratic in the keys of a row; lowered_scores.cpp sums once from the last key.
double term(const ContextualPosition& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const ConstTensorView& table = std::get<CopeWeights>(weights).table;
  const double p = sum_of_gates(row, j);
  if (std::isnan(p)) return p;  // of a score that is NaN: no row is beside it
  const auto [below, above, share] = math::cope_place(p, scheme.positions);
  double out = 0.0;
  for (std::int64_t c = 0; c < row.layer.head_dim; ++c) {
    out += row.q[index(c)] * ((1.0 - share) * element(table, {below, c}) + share * element(table, {above, c}));
  }
  return out;
}

// To q, to the rows beside p, and by p = sum_l sigmoid(x_l) to each score that it counts: what the term adds to x, from
// where the content's transposes go on to q and k. A NaN stays one.
void term_backward(const ContextualPosition& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j,
                   double d, TermGradient& to) {
  const ConstTensorView& table = std::get<CopeWeights>(weights).table;
  const double p = sum_of_gates(row, j);
  const bool is_number = !std::isnan(p);
  const auto [below, above, share] = is_number ? math::cope_place(p, scheme.positions) : math::CopePlace{0, 0, p};
  double by_p = is_number ? 0.0 : p;
  for (std::int64_t c = 0; c < row.layer.head_dim; ++c) {
    const double low = element(table, {below, c});
    const double high = element(table, {above, c});
    to.row.q[index(c)] += d * ((1.0 - share) * low + share * high);
    to.learned.add("table", {below, c}, d * (1.0 - share) * row.q[index(c)]);
    to.learned.add("table", {above, c}, d * share * row.q[index(c)]);
    by_p += d * row.q[index(c)] * (high - low);
  }
  for (std::size_t l = 0; l < row.x.size(); ++l) {
    if (is_counted(row, l, j)) to.row.x[l] += by_p * math::logistic_derivative(row.x[l]);
  }
}

// In the call's bias, and its gradient there.
double term(const DistanceLogits&, const ScoreWeights&, const Row&, std::int64_t) { return 0.0; }

void term_backward(const DistanceLogits&, const ScoreWeights&, const Row&, std::int64_t, double, TermGradient&) {}

// The sum of ln f_l over keys l after j, up to the query; nothing for a key in the future.
double term(const ForgetGate&, const ScoreWeights&, const Row& row, std::int64_t j) {
  double sum = 0.0;
  for (std::int64_t l = 0; l < row.keys(); ++l) {
    if (forgets(row, l, j)) sum += element(row.args.inputs.log_forget, {row.sequence.k.first_row + l, row.h});
  }
  return sum;
}

void term_backward(const ForgetGate&, const ScoreWeights&, const Row& row, std::int64_t j, double d, TermGradient& to) {
  for (std::int64_t l = 0; l < row.keys(); ++l) {
    if (forgets(row, l, j)) to.row.sums.log_forget.add({row.sequence.k.first_row + l, row.h}, d);
  }
}

}  // namespace posenc::inline v0_2::reference
