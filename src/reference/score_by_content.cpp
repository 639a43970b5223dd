// Terms in which the query or the key meets a vector that stands for their distance, in double:
//
//   Shaw et al. arXiv 1803.02155, Transformer-XL 1901.02860, XLNet 1906.08237, DeBERTa 2006.03654, MViT 2112.01526
#include <algorithm>
#include <cmath>
#include <vector>

#include "posenc/input.h"
#include "posenc/reference.h"
#include "posenc/scores.h"
#include "reference/relative_rows.h"
#include "reference/score_terms.h"

namespace posenc::inline v0_2::reference {
namespace {

// [head_dim] of [heads, head_dim].
std::vector<double> of_head(const ConstTensorView& x, std::int64_t h) {
  std::vector<double> out(index(x.shape[1]));
  for (std::size_t c = 0; c < out.size(); ++c) out[c] = element(x, {h, static_cast<std::int64_t>(c)});
  return out;
}

std::vector<double> sum(std::vector<double> a, const std::vector<double>& b) {
  for (std::size_t c = 0; c < a.size(); ++c) a[c] += b[c];
  return a;
}

// The part of head h of W x + b, which has all heads.
std::vector<double> head_projected(const Linear& linear, std::span<const double> x, std::int64_t h,
                                   std::int64_t head_dim) {
  const std::vector<double> all = transformed(linear, x);
  const auto first = all.begin() + h * head_dim;
  return {first, first + head_dim};
}

// r(distance) of Transformer-XL, head_projected: a row of the table, whose first is of the distance `low`, or sines.
std::vector<double> position_key(SinusoidConvention convention, const TransformerXlWeights& weights, double distance,
                                 std::int64_t low, const Row& row) {
  std::vector<double> r;
  if (weights.table.empty()) {
    r = input_row(SinusoidalInput{.convention = convention}, weights.projection.shape[1], distance);
  }
  for (std::int64_t c = 0; c < weights.table.shape[1] && !weights.table.empty(); ++c) {
    r.push_back(element(weights.table, {static_cast<std::int64_t>(distance) - low, c}));
  }
  return head_projected({.weight = weights.projection}, r, row.h, row.layer.head_dim);
}

// Transformer-XL's clamp_len; below 0 it does not clamp.
double clamped(double distance, std::int64_t length) {
  const auto limit = static_cast<double>(length);
  return length < 0 ? distance : std::clamp(distance, -limit, limit);
}

// (q_i + v) . W r
double of_distance(SinusoidConvention convention, const TransformerXlWeights& weights, double distance,
                   std::int64_t low, const Row& row) {
  const std::vector<double> r = position_key(convention, weights, distance, low, row);
  if (weights.position_bias.empty()) return dot(row.q, r);
  return dot(sum(row.q, of_head(weights.position_bias, row.h)), r);
}

// u . k_j
double of_key(const TransformerXlWeights& weights, const Row& row, std::int64_t j) {
  return weights.content_bias.empty() ? 0.0 : dot(of_head(weights.content_bias, row.h), row.key(j));
}

}  // namespace

// q_i . r(i - j); by_keys adds k_j . r(i - j), BERT's relative_key_query. r is a learned row, or sines (NEZHA).
double term(const ShawKeys& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const auto* table = std::get_if<ShawWeights>(&weights);
  const auto distance = static_cast<std::int64_t>(row.distance(j));
  const std::vector<double> r =
      relative_row({scheme.left, scheme.right, scheme.sinusoidal}, table, row.h, distance, row.layer.head_dim);
  return dot(row.q, r) + (scheme.by_keys ? dot(row.key(j), r) : 0.0);
}

// (q_i + v) . W r(i - j) + u . k_j, arXiv 1901.02860, section 3.3: W projects positions and is not that of the keys.
// Where a distance has no row, what is left is the term of the key.
double term(const TransformerXl& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const auto& learned = std::get<TransformerXlWeights>(weights);
  const double distance = row.distance(j);
  const bool has_row = !scheme.distances || (distance >= static_cast<double>(scheme.distances->low) &&
                                             distance <= static_cast<double>(scheme.distances->high));
  if (!has_row) return of_key(learned, row, j);
  const std::int64_t low = scheme.distances ? scheme.distances->low : -scheme.clamp_length;
  return of_distance(scheme.sinusoid, learned, clamped(distance, scheme.clamp_length), low, row) +
         of_key(learned, row, j);
}

// The second half of the batch reads backwards where bidirectional_data says so (XLNet's pretraining).
double term(const XlNet& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const auto& learned = std::get<XlNetWeights>(weights);
  const bool is_backward = scheme.bidirectional_data && 2 * row.sequence.batch >= row.args.q.shape[0];
  const double distance = is_backward ? -row.distance(j) : row.distance(j);
  double out = of_distance(SinusoidConvention::xlnet, learned.positions, clamped(distance, scheme.clamp_length),
                           -scheme.clamp_length, row) +
               of_key(learned.positions, row, j);
  if (learned.segments.empty()) return out;
  const auto& in = row.args.inputs;
  const bool same =
      in.q_segments[index(row.sequence.q.first_row + row.i)] == in.k_segments[index(row.sequence.k.first_row + j)];
  const std::vector<double> asked = sum(row.q, of_head(learned.segment_bias, row.h));
  for (std::int64_t c = 0; c < row.layer.head_dim; ++c) {
    out += asked[index(c)] * element(learned.segments, {same ? 0 : 1, row.h, c});
  }
  return out;
}

// arXiv 2006.03654, (4): c2p q_i . W_k P[d], p2c k_j . W_q P[d]. The share of the scale, 1 / sqrt(terms), is in
// softmax_scale. p2p, in Microsoft's code only, takes the query's row number where the paper has nothing.
double term(const Deberta& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const auto& learned = std::get<DebertaWeights>(weights);
  const std::int64_t span = deberta_span(scheme);
  const auto embedding = [&](std::int64_t place) {
    std::vector<double> out(index(learned.table.shape[1]));
    for (std::size_t c = 0; c < out.size(); ++c) {
      out[c] = element(learned.table, {place, static_cast<std::int64_t>(c)});
    }
    return out;
  };
  const auto key = [&](std::int64_t place) {
    return head_projected(learned.keys, embedding(place), row.h, row.layer.head_dim);
  };
  const auto query = [&](std::int64_t place) {
    return head_projected(learned.queries, embedding(place), row.h, row.layer.head_dim);
  };
  const std::int64_t place = deberta_row(scheme, static_cast<std::int64_t>(row.distance(j)));
  double out = 0.0;
  if (scheme.content_to_position) out += dot(row.q, key(place));
  if (scheme.position_to_content) out += dot(row.key(j), query(place));
  if (scheme.position_to_position) {
    const std::int64_t order = row.sequence.q.order[index(row.i)];
    out += dot(query(std::clamp<std::int64_t>(span + order, 0, 2 * span - 1)), key(place));
  }
  return out;
}

// Without the scale, as a bias: q of SAM and MViT is not scaled here. Rows are stored by q - k, from -(rows - 1)/2.
double term(const DecomposedHw& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const auto& learned = std::get<DecomposedHwWeights>(weights);
  const std::int64_t middle = (scheme.rows - 1) / 2;
  double out = 0.0;
  for (const std::int64_t axis : {0, 1}) {
    const auto place = middle + static_cast<std::int64_t>(row.distance(j, axis));
    const ConstTensorView& table = axis == 0 ? learned.rows : learned.columns;
    for (std::int64_t c = 0; c < row.layer.head_dim; ++c) out += row.q[index(c)] * element(table, {place, c});
  }
  return out;
}

}  // namespace posenc::inline v0_2::reference
