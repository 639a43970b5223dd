// Terms in which the query or the key meets a vector that stands for their distance, in double, each with its
// transpose:
//
//   Shaw et al. arXiv 1803.02155, Transformer-XL 1901.02860, XLNet 1906.08237, DeBERTa 2006.03654, MViT 2112.01526
#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "posenc/input.h"
#include "posenc/reference.h"
#include "posenc/scores.h"
#include "reference/relative_rows.h"
#include "reference/score_terms.h"

namespace posenc::inline v0_2::reference {
namespace {

// Row h of a table: [head_dim] of [heads, head_dim].
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

std::vector<double> scaled(double factor, std::vector<double> x) {
  for (double& y : x) y *= factor;
  return x;
}

void accumulate(std::vector<double>& sums, const std::vector<double>& d) {
  for (std::size_t c = 0; c < d.size(); ++c) sums[c] += d[c];
}

// d, [head_dim], to row h of a gradient of [heads, head_dim].
void add_of_head(NamedSums& learned, std::string_view name, std::int64_t h, const std::vector<double>& d) {
  for (std::size_t c = 0; c < d.size(); ++c) learned.add(name, {h, static_cast<std::int64_t>(c)}, d[c]);
}

// Of head_projected: d, [head_dim], is what comes out's. Adds to the gradients of W and b, where `bias` has a name, and
// returns that of x.
std::vector<double> head_projected_backward(const Linear& linear, std::span<const double> x, std::int64_t h,
                                            const std::vector<double>& d, std::string_view weight,
                                            std::string_view bias, NamedSums& learned) {
  std::vector<double> out(x.size());
  for (std::size_t c = 0; c < d.size(); ++c) {
    const std::int64_t place = h * std::ssize(d) + static_cast<std::int64_t>(c);
    if (!bias.empty()) learned.add(bias, {place}, d[c]);
    for (std::size_t n = 0; n < x.size(); ++n) {
      const auto column = static_cast<std::int64_t>(n);
      learned.add(weight, {place, column}, d[c] * x[n]);
      out[n] += d[c] * element(linear.weight, {place, column});
    }
  }
  return out;
}

// r(distance) of Transformer-XL: a row of the table, whose first is of the distance `low`, or sines.
std::vector<double> position_row(SinusoidConvention convention, const TransformerXlWeights& weights, double distance,
                                 std::int64_t low) {
  if (weights.table.empty()) {
    return input_row(SinusoidalInput{.convention = convention}, weights.projection.shape[1], distance);
  }
  return of_head(weights.table, static_cast<std::int64_t>(distance) - low);
}

// Transformer-XL's clamp_len; below 0 it does not clamp.
double clamped(double distance, std::int64_t length) {
  const auto limit = static_cast<double>(length);
  return length < 0 ? distance : std::clamp(distance, -limit, limit);
}

// q_i + v, or q_i where there is no v.
std::vector<double> asked_by(const Row& row, const ConstTensorView& position_bias) {
  return position_bias.empty() ? row.q : sum(row.q, of_head(position_bias, row.h));
}

// (q_i + v) . W r
double of_distance(SinusoidConvention convention, const TransformerXlWeights& weights, double distance,
                   std::int64_t low, const Row& row) {
  const std::vector<double> r = head_projected(
      {.weight = weights.projection}, position_row(convention, weights, distance, low), row.h, row.layer.head_dim);
  return dot(asked_by(row, weights.position_bias), r);
}

void of_distance_backward(SinusoidConvention convention, const TransformerXlWeights& weights, double distance,
                          std::int64_t low, const Row& row, double d, TermGradient& to) {
  const Linear projection{.weight = weights.projection};
  const std::vector<double> r = position_row(convention, weights, distance, low);
  const std::vector<double> by_asked = scaled(d, head_projected(projection, r, row.h, row.layer.head_dim));
  accumulate(to.row.q, by_asked);
  add_of_head(to.learned, "position_bias", row.h, by_asked);
  const std::vector<double> by_row = head_projected_backward(
      projection, r, row.h, scaled(d, asked_by(row, weights.position_bias)), "projection", "", to.learned);
  if (!weights.table.empty()) add_of_head(to.learned, "table", static_cast<std::int64_t>(distance) - low, by_row);
}

// u . k_j
double of_key(const TransformerXlWeights& weights, const Row& row, std::int64_t j) {
  return weights.content_bias.empty() ? 0.0 : dot(of_head(weights.content_bias, row.h), row.key(j));
}

void of_key_backward(const TransformerXlWeights& weights, const Row& row, std::int64_t j, double d, TermGradient& to) {
  if (weights.content_bias.empty()) return;
  to.row.add_key(row, j, scaled(d, of_head(weights.content_bias, row.h)));
  add_of_head(to.learned, "content_bias", row.h, scaled(d, row.key(j)));
}

// The distance whose row a key has, and the first distance of a table; no row where the scheme has none for it.
struct RowOf {
  double distance;
  std::int64_t low;
};

std::optional<RowOf> row_of(const TransformerXl& scheme, const Row& row, std::int64_t j) {
  const double distance = row.distance(j);
  const std::int64_t low = scheme.distances ? scheme.distances->low : -scheme.clamp_length;
  if (scheme.distances && (distance < static_cast<double>(scheme.distances->low) ||
                           distance > static_cast<double>(scheme.distances->high))) {
    return {};
  }
  return RowOf{clamped(distance, scheme.clamp_length), low};
}

// The second half of the batch reads backwards where bidirectional_data says so (XLNet's pretraining).
RowOf row_of(const XlNet& scheme, const Row& row, std::int64_t j) {
  const bool is_backward = scheme.bidirectional_data && 2 * row.sequence.batch >= row.args.q.shape[0];
  return {clamped(is_backward ? -row.distance(j) : row.distance(j), scheme.clamp_length), -scheme.clamp_length};
}

// [head_dim] of seg_embed [2, heads, head_dim]: the first where both are of one segment.
struct SegmentOf {
  std::int64_t place;
  std::vector<double> row;
};

SegmentOf segment_of(const XlNetWeights& learned, const Row& row, std::int64_t j) {
  const auto& in = row.args.inputs;
  const bool same =
      in.q_segments[index(row.sequence.q.first_row + row.i)] == in.k_segments[index(row.sequence.k.first_row + j)];
  SegmentOf out{.place = same ? 0 : 1, .row = std::vector<double>(index(row.layer.head_dim))};
  for (std::int64_t c = 0; c < row.layer.head_dim; ++c) {
    out.row[index(c)] = element(learned.segments, {out.place, row.h, c});
  }
  return out;
}

// Whose product a part of DeBERTa's score is: what the key stands for, and what the query does.
struct DebertaRows {
  const DebertaWeights& learned;
  const Row& row;

  std::vector<double> embedding(std::int64_t place) const { return of_head(learned.table, place); }
  std::vector<double> key(std::int64_t place) const {
    return head_projected(learned.keys, embedding(place), row.h, row.layer.head_dim);
  }
  std::vector<double> query(std::int64_t place) const {
    return head_projected(learned.queries, embedding(place), row.h, row.layer.head_dim);
  }
  // The gradient d of key(place), or of query(place).
  void key_backward(std::int64_t place, const std::vector<double>& d, NamedSums& to) const {
    add_of_head(to, "table", place,
                head_projected_backward(learned.keys, embedding(place), row.h, d, "keys.weight", "keys.bias", to));
  }
  void query_backward(std::int64_t place, const std::vector<double>& d, NamedSums& to) const {
    add_of_head(
        to, "table", place,
        head_projected_backward(learned.queries, embedding(place), row.h, d, "queries.weight", "queries.bias", to));
  }
  // Position to position, in Microsoft's code only, takes the query's row number where the paper has nothing.
  std::int64_t place_of_query(std::int64_t span) const {
    return std::clamp<std::int64_t>(span + row.sequence.q.order[index(row.i)], 0, 2 * span - 1);
  }
};

}  // namespace

// q_i . r(i - j); by_keys adds k_j . r(i - j), BERT's relative_key_query. r is a learned row, or sines (NEZHA).
double term(const ShawKeys& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const auto* table = std::get_if<ShawWeights>(&weights);
  const auto distance = static_cast<std::int64_t>(row.distance(j));
  const std::vector<double> r =
      relative_row({scheme.left, scheme.right, scheme.sinusoidal}, table, row.h, distance, row.layer.head_dim);
  return dot(row.q, r) + (scheme.by_keys ? dot(row.key(j), r) : 0.0);
}

void term_backward(const ShawKeys& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j, double d,
                   TermGradient& to) {
  const auto* table = std::get_if<ShawWeights>(&weights);
  const auto distance = static_cast<std::int64_t>(row.distance(j));
  const Clipping clipping{scheme.left, scheme.right, scheme.sinusoidal};
  const std::vector<double> by_asking = scaled(d, relative_row(clipping, table, row.h, distance, row.layer.head_dim));
  accumulate(to.row.q, by_asking);
  if (scheme.by_keys) to.row.add_key(row, j, by_asking);
  const std::vector<double> asking = scheme.by_keys ? sum(row.q, row.key(j)) : row.q;
  add_relative_row(clipping, table, row.h, distance, scaled(d, asking), "table", to.learned);
}

// (q_i + v) . W r(i - j) + u . k_j, arXiv 1901.02860, section 3.3: W projects positions and is not that of the keys.
// Where a distance has no row, what is left is the term of the key.
double term(const TransformerXl& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const auto& learned = std::get<TransformerXlWeights>(weights);
  const std::optional<RowOf> at = row_of(scheme, row, j);
  if (!at) return of_key(learned, row, j);
  return of_distance(scheme.sinusoid, learned, at->distance, at->low, row) + of_key(learned, row, j);
}

void term_backward(const TransformerXl& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j, double d,
                   TermGradient& to) {
  const auto& learned = std::get<TransformerXlWeights>(weights);
  of_key_backward(learned, row, j, d, to);
  const std::optional<RowOf> at = row_of(scheme, row, j);
  if (at) of_distance_backward(scheme.sinusoid, learned, at->distance, at->low, row, d, to);
}

// Transformer-XL's terms, and (q_i + s) . S of the segments.
double term(const XlNet& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const auto& learned = std::get<XlNetWeights>(weights);
  const RowOf at = row_of(scheme, row, j);
  const double out = of_distance(SinusoidConvention::xlnet, learned.positions, at.distance, at.low, row) +
                     of_key(learned.positions, row, j);
  if (learned.segments.empty()) return out;
  return out + dot(sum(row.q, of_head(learned.segment_bias, row.h)), segment_of(learned, row, j).row);
}

void term_backward(const XlNet& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j, double d,
                   TermGradient& to) {
  const auto& learned = std::get<XlNetWeights>(weights);
  const RowOf at = row_of(scheme, row, j);
  of_distance_backward(SinusoidConvention::xlnet, learned.positions, at.distance, at.low, row, d, to);
  of_key_backward(learned.positions, row, j, d, to);
  if (learned.segments.empty()) return;
  const SegmentOf segment = segment_of(learned, row, j);
  const std::vector<double> by_asked = scaled(d, segment.row);
  accumulate(to.row.q, by_asked);
  add_of_head(to.learned, "segment_bias", row.h, by_asked);
  const std::vector<double> by_segment = scaled(d, sum(row.q, of_head(learned.segment_bias, row.h)));
  for (std::int64_t c = 0; c < row.layer.head_dim; ++c) {
    to.learned.add("segments", {segment.place, row.h, c}, by_segment[index(c)]);
  }
}

// arXiv 2006.03654, (4): c2p q_i . W_k P[d], p2c k_j . W_q P[d]. The share of the scale, 1 / sqrt(terms), is in
// softmax_scale.
double term(const Deberta& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j) {
  const DebertaRows rows{std::get<DebertaWeights>(weights), row};
  const std::int64_t place = deberta_row(scheme, static_cast<std::int64_t>(row.distance(j)));
  double out = 0.0;
  if (scheme.content_to_position) out += dot(row.q, rows.key(place));
  if (scheme.position_to_content) out += dot(row.key(j), rows.query(place));
  if (scheme.position_to_position) {
    out += dot(rows.query(rows.place_of_query(deberta_span(scheme))), rows.key(place));
  }
  return out;
}

void term_backward(const Deberta& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j, double d,
                   TermGradient& to) {
  const DebertaRows rows{std::get<DebertaWeights>(weights), row};
  const std::int64_t place = deberta_row(scheme, static_cast<std::int64_t>(row.distance(j)));
  if (scheme.content_to_position) {
    accumulate(to.row.q, scaled(d, rows.key(place)));
    rows.key_backward(place, scaled(d, row.q), to.learned);
  }
  if (scheme.position_to_content) {
    to.row.add_key(row, j, scaled(d, rows.query(place)));
    rows.query_backward(place, scaled(d, row.key(j)), to.learned);
  }
  if (scheme.position_to_position) {
    const std::int64_t of_query = rows.place_of_query(deberta_span(scheme));
    rows.query_backward(of_query, scaled(d, rows.key(place)), to.learned);
    rows.key_backward(place, scaled(d, rows.query(of_query)), to.learned);
  }
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

void term_backward(const DecomposedHw& scheme, const ScoreWeights& weights, const Row& row, std::int64_t j, double d,
                   TermGradient& to) {
  const auto& learned = std::get<DecomposedHwWeights>(weights);
  const std::int64_t middle = (scheme.rows - 1) / 2;
  for (const std::int64_t axis : {0, 1}) {
    const auto place = middle + static_cast<std::int64_t>(row.distance(j, axis));
    accumulate(to.row.q, scaled(d, of_head(axis == 0 ? learned.rows : learned.columns, place)));
    add_of_head(to.learned, axis == 0 ? "rows" : "columns", place, scaled(d, row.q));
  }
}

}  // namespace posenc::inline v0_2::reference
