// Terms in which the query or the key meets a vector that stands for their distance.
#include <algorithm>
#include <vector>

#include "cpu/distances.h"
#include "cpu/lowering.h"
#include "cpu/weight_reader.h"
#include "posenc/input.h"
#include "posenc/scores.h"

namespace posenc::cpu {
namespace {

double dot(const double* a, const double* b, std::int64_t channels) {
  double sum = 0.0;
  for (std::int64_t c = 0; c < channels; ++c) sum += a[c] * b[c];
  return sum;
}

// W r + b for each r, as [heads, rows, head_dim]: W has the outputs of all heads.
template <typename RowOf>
std::vector<double> projected(const LayerPlan& layer, const Linear& linear, std::int64_t rows, const RowOf& row_of) {
  std::vector<double> out(index(layer.heads * rows * layer.head_dim));
  const Projection projection(linear);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::vector<double> all = projection.of(row_of(row));
    for (std::int64_t h = 0; h < layer.heads; ++h) {
      std::copy_n(all.begin() + h * layer.head_dim, layer.head_dim, out.begin() + (h * rows + row) * layer.head_dim);
    }
  }
  return out;
}

// (q + v).r of a distance is q.r, and v.r, which is a table by distance.
math::DistanceBias times_vector(const Lowering& lowering, const math::QueryDistance& term,
                                const std::vector<double>& v) {
  const std::int64_t channels = lowering.layer.head_dim;
  const std::int64_t count = std::ssize(term.at.places);
  math::DistanceBias out{
      .part = math::Part::content, .coordinate = term.at.coordinate, .low = term.at.low, .count = count};
  out.values.reserve(index(lowering.layer.heads * count));
  for (std::int64_t h = 0; h < lowering.layer.heads; ++h) {
    for (const std::int32_t place : term.at.places) {
      const double* r = term.vectors.data() + (h * term.count + std::max(place, 0)) * channels;
      out.values.push_back(place < 0 ? 0.0 : dot(v.data() + h * channels, r, channels));
    }
  }
  return out;
}

// Distances at which there is a row, and how far they count.
struct Rows {
  std::int64_t clamp_length;  // -1: distances are not clamped
  std::optional<Distances> distances;
};

// One vector for each distance that occurs. Beyond the rows that there are, nothing: one place more at either end.
math::DistancePlaces places_of(const Lowering& lowering, const Rows& rows, std::int64_t coordinate) {
  DistanceRange range = distances(lowering, coordinate);
  if (rows.distances) {
    range.low = std::clamp(range.low, rows.distances->low - 1, rows.distances->high + 1);
    range.high = std::clamp(range.high, rows.distances->low - 1, rows.distances->high + 1);
  } else if (rows.clamp_length >= 0) {
    range.low = std::clamp(range.low, -rows.clamp_length, rows.clamp_length);
    range.high = std::clamp(range.high, -rows.clamp_length, rows.clamp_length);
  }
  require_table(range.count(), 1);
  math::DistancePlaces out{.coordinate = coordinate, .low = range.low, .places = {}};
  out.places.reserve(index(range.count()));
  for (std::int64_t d = range.low; d <= range.high; ++d) {
    const bool has_row = !rows.distances || (d >= rows.distances->low && d <= rows.distances->high);
    out.places.push_back(has_row ? static_cast<std::int32_t>(d - range.low) : -1);
  }
  return out;
}

void lower_transformer_xl(SinusoidConvention convention, const TransformerXlWeights& weights, const Rows& rows,
                          std::int64_t coordinate, Lowering& lowering) {
  const LayerPlan& layer = lowering.layer;
  math::QueryDistance term{.at = places_of(lowering, rows, coordinate), .per_head = true};
  term.count = std::ssize(term.at.places);
  require_table(term.count, layer.heads * layer.head_dim);
  const auto sines = [&](std::int64_t place) {
    std::int64_t d = term.at.low + place;
    if (rows.clamp_length >= 0) d = std::clamp(d, -rows.clamp_length, rows.clamp_length);
    return input_row(SinusoidalInput{.convention = convention}, weights.projection.shape[1], static_cast<double>(d));
  };
  term.vectors = projected(layer, {.weight = weights.projection}, term.count, sines);
  if (!weights.position_bias.empty()) {
    lowering.out.terms.push_back(times_vector(lowering, term, read_all(weights.position_bias)));
  }
  lowering.out.terms.push_back(std::move(term));
  if (!weights.content_bias.empty()) {
    lowering.out.terms.push_back(math::KeyVector{.vectors = read_all(weights.content_bias)});
  }
}

// Half of the batch reads backwards: its distances are those of positions with the other sign.
std::int64_t both_directions(Lowering& lowering) {
  math::Coordinate turned = lowering.out.coordinates.front();
  const auto negate = [](std::vector<double>& rows) {
    for (std::size_t t = rows.size() / 2; t < rows.size(); ++t) rows[t] = -rows[t];
  };
  negate(turned.q);
  negate(turned.k);
  lowering.out.coordinates.push_back(std::move(turned));
  return std::ssize(lowering.out.coordinates) - 1;
}

// The same rows, which keys take head by head.
math::KeyDistance asked_by_keys(const math::QueryDistance& term, std::int64_t heads) {
  math::KeyDistance out{.at = term.at, .count = term.count, .vectors = term.vectors};
  for (std::int64_t h = 1; h < heads && !term.per_head; ++h) {
    out.vectors.insert(out.vectors.end(), term.vectors.begin(), term.vectors.end());
  }
  return out;
}

math::QueryDistance by_axis(const Lowering& lowering, std::int64_t axis, const ConstTensorView& table) {
  const std::int64_t side = (table.shape[0] - 1) / 2;
  return {.part = math::Part::bias,
          .at = clipped_places(lowering, -side, side, axis),
          .count = table.shape[0],
          .vectors = read_all(table),
          .given = {}};
}

}  // namespace

void lower_term(const ShawKeys& scheme, const ScoreWeights& weights, Lowering& lowering) {
  math::QueryDistance term{.at = clipped_places(lowering, -scheme.right, scheme.left),
                           .count = scheme.left + scheme.right + 1};
  if (const auto* learned = std::get_if<ShawWeights>(&weights); learned != nullptr && !scheme.sinusoidal) {
    term.per_head = learned->table.rank == 3;
    term.vectors = read_all(learned->table);
  } else {
    term.vectors = shaw_sines(term.count, lowering.layer.head_dim);
  }
  if (scheme.by_keys) lowering.out.terms.push_back(asked_by_keys(term, lowering.layer.heads));
  lowering.out.terms.push_back(std::move(term));
}

void lower_term(const TransformerXl& scheme, const ScoreWeights& weights, Lowering& lowering) {
  lower_transformer_xl(scheme.sinusoid, std::get<TransformerXlWeights>(weights),
                       {scheme.clamp_length, scheme.distances}, 0, lowering);
}

void lower_term(const XlNet& scheme, const ScoreWeights& weights, Lowering& lowering) {
  const auto& learned = std::get<XlNetWeights>(weights);
  lower_transformer_xl(SinusoidConvention::xlnet, learned.positions, {scheme.clamp_length, {}},
                       scheme.bidirectional_data ? both_directions(lowering) : 0, lowering);
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

void lower_term(const Deberta& scheme, const ScoreWeights& weights, Lowering& lowering) {
  const auto& learned = std::get<DebertaWeights>(weights);
  const LayerPlan& layer = lowering.layer;
  const std::int64_t span = deberta_span(scheme);
  const std::int64_t count = 2 * span;
  const auto embedding = [&](std::int64_t place) {
    std::vector<double> out(index(learned.table.shape[1]));
    for (std::size_t c = 0; c < out.size(); ++c) out[c] = read(learned.table, {place, static_cast<std::int64_t>(c)});
    return out;
  };
  require_table(count, layer.heads * layer.head_dim);
  std::vector<double> keys;
  std::vector<double> queries;
  if (scheme.content_to_position || scheme.position_to_position) {
    keys = projected(layer, learned.keys, count, embedding);
  }
  if (scheme.position_to_content || scheme.position_to_position) {
    queries = projected(layer, learned.queries, count, embedding);
  }
  const math::DistancePlaces at = places(lowering, 0, [&](std::int64_t d) { return deberta_row(scheme, d); });
  if (scheme.position_to_position) {
    math::QueryDistance term{.at = at, .count = count, .per_head = true, .vectors = keys, .given = {}};
    term.given.reserve(index(layer.heads * lowering.rows.queries * layer.head_dim));
    for (std::int64_t h = 0; h < layer.heads; ++h) {
      for (const std::int64_t order : lowering.rows.q_order) {
        const std::int64_t place = std::clamp<std::int64_t>(span + order, 0, count - 1);
        const auto row = queries.begin() + (h * count + place) * layer.head_dim;
        term.given.insert(term.given.end(), row, row + layer.head_dim);
      }
    }
    lowering.out.terms.push_back(std::move(term));
  }
  if (scheme.content_to_position) {
    lowering.out.terms.push_back(
        math::QueryDistance{.at = at, .count = count, .per_head = true, .vectors = std::move(keys), .given = {}});
  }
  if (scheme.position_to_content) {
    lowering.out.terms.push_back(math::KeyDistance{.at = at, .count = count, .vectors = std::move(queries)});
  }
}

// Two axes, one term each: the differences have no common table.
void lower_term(const DecomposedHw&, const ScoreWeights& weights, Lowering& lowering) {
  const auto& learned = std::get<DecomposedHwWeights>(weights);
  lowering.out.terms.push_back(by_axis(lowering, 0, learned.rows));
  lowering.out.terms.push_back(by_axis(lowering, 1, learned.columns));
}

}  // namespace posenc::cpu
