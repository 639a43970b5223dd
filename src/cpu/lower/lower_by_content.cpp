// Terms in which the query or the key meets a vector that stands for their distance, as primitives: Shaw et al. (arXiv
// 1803.02155), Transformer-XL (1901.02860), XLNet (1906.08237), DeBERTa (2006.03654), MViT and SAM (2112.01526).
#include <algorithm>
#include <vector>

#include "cpu/lower/distances.h"
#include "cpu/lower/lowering.h"
#include "cpu/lower/weight_reader.h"
#include "math/input/sinusoid.h"
#include "posenc/error.h"
#include "posenc/scores.h"

namespace posenc::cpu {
namespace {

double dot(const double* a, const double* b, std::int64_t channels) {
  double sum = 0.0;
  for (std::int64_t c = 0; c < channels; ++c) sum += a[c] * b[c];
  return sum;
}

void lower_content_bias(const TransformerXlWeights& weights, Lowering& lowering) {
  if (weights.content_bias.empty()) return;
  lowering.out.terms.push_back(math::KeyVector{.vectors = read_all(weights.content_bias)});
}

// v W, [heads, channels of R]: what meets each row of R.
std::vector<double> bias_of_rows(const TransformerXlWeights& weights, const LayerPlan& layer) {
  const std::int64_t width = weights.table.shape[1];
  std::vector<double> out(index(layer.heads * width));
  for (std::int64_t h = 0; h < layer.heads; ++h) {
    for (std::int64_t c = 0; c < layer.head_dim; ++c) {
      const double v = read(weights.position_bias, {h, c});
      for (std::int64_t w = 0; w < width; ++w) {
        out[index(h * width + w)] += v * read(weights.projection, {h * layer.head_dim + c, w});
      }
    }
  }
  return out;
}

// (q + v) . W R[d]: q meets the projected row, v's product with it is a bias by distance, inside the scale.
void lower_relative_table(const TransformerXlWeights& weights, const math::SineDistance& rule, Lowering& lowering) {
  const Distances rows = rule.rows ? *rule.rows : Distances{-rule.clamp_length, rule.clamp_length};
  const auto place = [rule, rows](std::int64_t d) {
    const std::optional<std::int64_t> row = math::sine_place(rule, d);
    return row ? *row - rows.low : -1;
  };
  // One distance beyond either end: there is nothing there, or the last row where distances are clamped.
  const DistanceRange occurring = distances(lowering, rule.coordinate);
  const DistanceRange kept{std::clamp(occurring.low, rows.low - 1, rows.high + 1),
                           std::clamp(occurring.high, rows.low - 1, rows.high + 1)};
  require_table(kept.count(), lowering.layer.heads, sizeof(float));
  math::QueryDistance by_query{.at = {.coordinate = rule.coordinate, .low = kept.low, .places = {}},
                               .vectors = {.count = weights.table.shape[0],
                                           .per_head = true,
                                           .values = {},
                                           .rows = weights.table,
                                           .projection = {.weight = weights.projection}},
                               .given_places = {}};
  for (std::int64_t d = kept.low; d <= kept.high; ++d) {
    by_query.at.places.push_back(static_cast<std::int32_t>(place(d)));
  }
  lowering.out.terms.push_back(std::move(by_query));
  if (weights.position_bias.empty()) return;
  lowering.out.terms.push_back(
      math::DistanceBias{.part = math::Part::content,
                         .coordinate = rule.coordinate,
                         .low = kept.low,
                         .count = kept.count(),
                         .of =
                             [table = weights.table, asked = bias_of_rows(weights, lowering.layer), place](
                                 std::int64_t d, std::span<double> heads) {
                               const std::int64_t row = place(d);
                               const std::int64_t width = table.shape[1];
                               for (std::size_t h = 0; h < heads.size(); ++h) {
                                 heads[h] = 0.0;
                                 for (std::int64_t w = 0; w < width && row >= 0; ++w) {
                                   heads[h] += asked[h * index(width) + index(w)] * read(table, {row, w});
                                 }
                               }
                             },
                         .row_factor = {}});
}

// (q + v) . W s(d) as a SineDistance, or with a learned table by its rows; u . k as a KeyVector. `term` comes with what
// Transformer-XL and XLNet differ in: the coordinate, clamping, and the distances that have a row.
void lower_transformer_xl(SinusoidConvention convention, const TransformerXlWeights& weights, math::SineDistance term,
                          Lowering& lowering) {
  if (!weights.table.empty()) {
    lower_relative_table(weights, term, lowering);
    return lower_content_bias(weights, lowering);
  }
  const DistanceRange occurring = distances(lowering, term.coordinate);
  const DistanceRange kept = term.rows                ? DistanceRange{term.rows->low, term.rows->high}
                             : term.clamp_length >= 0 ? DistanceRange{-term.clamp_length, term.clamp_length}
                                                      : occurring;
  term.low = std::clamp(occurring.low, kept.low, kept.high);
  term.high = std::clamp(occurring.high, kept.low, kept.high);
  term.projection = weights.projection;
  const std::int64_t width = weights.projection.shape[1];
  if (auto problem = math::check_sinusoid_channels(convention, width)) throw Error("lower", *problem);
  term.channels.reserve(index(width));
  for (std::int64_t c = 0; c < width; ++c) term.channels.push_back(math::sinusoid(convention, width, c));
  term.added = read_all(weights.position_bias);
  lowering.out.terms.push_back(std::move(term));
  lower_content_bias(weights, lowering);
}

// Half of the batch reads backwards: its distances are those of positions with the other sign.
std::int64_t both_directions(Lowering& lowering) {
  math::Coordinate rotated = lowering.out.coordinates.front();
  const auto negate = [](std::vector<double>& rows) {
    for (std::size_t t = rows.size() / 2; t < rows.size(); ++t) rows[t] = -rows[t];
  };
  negate(rotated.q);
  negate(rotated.k);
  lowering.out.coordinates.push_back(std::move(rotated));
  return std::ssize(lowering.out.coordinates) - 1;
}

// A bias, since q is not scaled here; the table has a row for each difference from -side to side.
math::QueryDistance by_axis(const Lowering& lowering, std::int64_t axis, const ConstTensorView& table) {
  const std::int64_t side = (table.shape[0] - 1) / 2;
  return {.part = math::Part::bias,
          .at = clipped_places(lowering, -side, side, axis),
          .vectors = {.count = table.shape[0], .values = read_all(table)},
          .given_places = {}};
}

}  // namespace

// The rows are stored by i - j from -right on, which is place 0 of clipped_places.
void lower_term(const ShawKeys& scheme, const ScoreWeights& weights, Lowering& lowering) {
  math::QueryDistance term{.at = clipped_places(lowering, -scheme.right, scheme.left),
                           .vectors = {.count = scheme.left + scheme.right + 1, .values = {}},
                           .given_places = {}};
  if (const auto* learned = std::get_if<ShawWeights>(&weights); learned != nullptr && !scheme.sinusoidal) {
    term.vectors.per_head = learned->table.rank == 3;
    term.vectors.values = read_all(learned->table);
  } else {
    term.vectors.values = shaw_sines(term.vectors.count, lowering.layer.head_dim);
  }
  if (scheme.by_keys) lowering.out.terms.push_back(math::KeyDistance{.at = term.at, .vectors = term.vectors});
  lowering.out.terms.push_back(std::move(term));
}

void lower_term(const TransformerXl& scheme, const ScoreWeights& weights, Lowering& lowering) {
  lower_transformer_xl(scheme.sinusoid, std::get<TransformerXlWeights>(weights),
                       {.rows = scheme.distances, .clamp_length = scheme.clamp_length, .channels = {}, .added = {}},
                       lowering);
}

// The term for segments is (q + s_h) . S[h][differs]: a Label, whose part s_h . S does not depend on the query.
void lower_term(const XlNet& scheme, const ScoreWeights& weights, Lowering& lowering) {
  const auto& learned = std::get<XlNetWeights>(weights);
  lower_transformer_xl(SinusoidConvention::xlnet, learned.positions,
                       {.coordinate = scheme.bidirectional_data ? both_directions(lowering) : 0,
                        .rows = {},
                        .clamp_length = scheme.clamp_length,
                        .channels = {},
                        .added = {}},
                       lowering);
  if (learned.segments.empty()) return;
  const std::int64_t channels = lowering.layer.head_dim;
  const std::vector<double> segments = read_all(learned.segments);   // [2, heads, head_dim]
  const std::vector<double> asked = read_all(learned.segment_bias);  // [heads, head_dim]
  math::Label out{.vectors = {},
                  .constants = {},
                  .q_labels = {lowering.inputs.q_segments.begin(), lowering.inputs.q_segments.end()},
                  .k_labels = {lowering.inputs.k_segments.begin(), lowering.inputs.k_segments.end()}};
  for (std::int64_t h = 0; h < lowering.layer.heads; ++h) {
    for (const std::int64_t differs : {0, 1}) {
      const double* vector = segments.data() + (differs * lowering.layer.heads + h) * channels;
      out.vectors.insert(out.vectors.end(), vector, vector + channels);
      out.constants.push_back(dot(asked.data() + h * channels, vector, channels));
    }
  }
  lowering.out.terms.push_back(std::move(out));
}

// Three terms over one table of places, projected to keys or to queries for every head; position to position multiplies
// two of its rows, of which the query's is clip(span + order).
void lower_term(const Deberta& scheme, const ScoreWeights& weights, Lowering& lowering) {
  const auto& learned = std::get<DebertaWeights>(weights);
  const std::int64_t span = deberta_span(scheme);
  const std::int64_t count = 2 * span;
  const auto projected = [&](const Linear& by) {
    return math::PlaceVectors{.count = count, .per_head = true, .values = {}, .rows = learned.table, .projection = by};
  };
  const math::DistancePlaces at = places(lowering, 0, [&](std::int64_t d) { return deberta_row(scheme, d); });
  if (scheme.position_to_position) {
    math::QueryDistance term{
        .at = at, .vectors = projected(learned.keys), .given = projected(learned.queries), .given_places = {}};
    for (const std::int64_t order : lowering.rows.q_order) {
      term.given_places.push_back(static_cast<std::int32_t>(std::clamp<std::int64_t>(span + order, 0, count - 1)));
    }
    lowering.out.terms.push_back(std::move(term));
  }
  if (scheme.content_to_position) {
    lowering.out.terms.push_back(math::QueryDistance{.at = at, .vectors = projected(learned.keys), .given_places = {}});
  }
  if (scheme.position_to_content) {
    lowering.out.terms.push_back(math::KeyDistance{.at = at, .vectors = projected(learned.queries)});
  }
}

// Two axes, one term each: the differences have no common table.
void lower_term(const DecomposedHw&, const ScoreWeights& weights, Lowering& lowering) {
  const auto& learned = std::get<DecomposedHwWeights>(weights);
  lowering.out.terms.push_back(by_axis(lowering, 0, learned.rows));
  lowering.out.terms.push_back(by_axis(lowering, 1, learned.columns));
}

}  // namespace posenc::cpu
