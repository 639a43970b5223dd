// Learned tables against the schemes that read them: shapes by heads, buckets, distances and channels, parameters that
// the formulas need (T5's and DeBERTa's buckets, FIRE's c and L), and that every distance of the call has a row.
//
// One overload of check() for each alternative of ScoreTerm: a new scheme without one does not compile.
#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <variant>

#include "base/formatted.h"
#include "math/check/check_attend.h"
#include "posenc/error.h"
#include "posenc/scores.h"

namespace posenc::math {
namespace {

// One score term of the call.
// `field` names the term in errors: "weights.score[2]".
struct Given {
  const LayerPlan& layer;
  const AttendArgs& args;
  const CallRows& rows;
  const ScoreWeights& weights;
  std::string field;

  // The weights of that scheme.
  template <typename Weights>
  const Weights& as() const {
    const auto* found = std::get_if<Weights>(&weights);
    if (found == nullptr) refuse(field, "hold the scheme's learned tables", "omitted, or another scheme's");
    return *found;
  }
};

void require_none(const Given& given) {
  if (!std::holds_alternative<std::monostate>(given.weights)) refuse(given.field, "hold nothing", "tables");
}

void require_at_least(const std::string& field, double is, double least) {
  if (!(is >= least)) refuse(field, formatted("be at least {}", least), formatted("{}", is));
}

// Numbers that shapes are computed from: tables of so many rows exist nowhere, and no sum or product of two passes
// 2^63.
void require_at_most_of_axis(const std::string& field, std::int64_t is) {
  if (is > kMostOfAxis) refuse(field, formatted("be at most {}", kMostOfAxis), formatted("{}", is));
}

void require_rows(const std::string& field, std::int64_t is, std::int64_t least) {
  require_at_least(field, static_cast<double>(is), static_cast<double>(least));
  require_at_most_of_axis(field, is);
}

void require_linear(const std::string& field, const Linear& linear, std::int64_t outputs, std::int64_t inputs) {
  require_shape(field + ".weight", linear.weight, {outputs, inputs});
  if (!linear.bias.empty()) require_shape(field + ".bias", linear.bias, {outputs});
}

// Every distance along that axis is a whole number in [-largest, largest]. It is enough to ask of the first query and
// the first key of a sequence, and of the ends.
void require_whole_distances(const Given& given, std::size_t axis = 0, double largest = HUGE_VAL) {
  const auto require_whole = [&](double distance) {
    if (distance != std::floor(distance)) refuse(given.field, "have whole distances", formatted("{}", distance));
    if (std::abs(distance) > largest) {
      refuse(given.field, formatted("have distances of at most {}", largest), formatted("{}", distance));
    }
  };
  const Coordinate& at = given.rows.axes[axis];
  for (const SequenceRows& rows : given.rows.sequences) {
    const auto part = [](const std::vector<double>& all, std::int64_t first, std::int64_t count) {
      return std::span(all).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    };
    const std::span q = part(at.q, rows.q_first, rows.q_count);
    const std::span k = part(at.k, rows.k_first, rows.k_count);
    if (q.empty() || k.empty()) continue;
    for (const double i : q) require_whole(i - k.front());
    for (const double j : k) require_whole(q.front() - j);
    require_whole(std::ranges::max(q) - std::ranges::min(k));
    require_whole(std::ranges::min(q) - std::ranges::max(k));
  }
}

// No table, and distances of any size, whole or not.
void check(const Alibi& scheme, const Given& given) {
  require_none(given);
  if (scheme.heads != given.layer.heads) {
    refuse(given.field, formatted("have slopes for {} heads", given.layer.heads), formatted("{}", scheme.heads));
  }
}

// T5's table has no size of its own: its rows are the buckets. The axis was checked with the layer.
void check(const T5Bias& scheme, const Given& given) {
  require_shape(given.field + ".table", given.as<T5Weights>().table, {scheme.buckets, given.layer.heads});
  t5_bucket(scheme, 0);  // throws for numbers that make no buckets
  require_whole_distances(given, static_cast<std::size_t>(scheme.axis));
  if (!scheme.gated) return;
  require_shape("row_gate", given.args.inputs.row_gate, {given.rows.queries, given.layer.heads});
}

void check(const ClippedBias& scheme, const Given& given) {
  require_rows(given.field + ".past", scheme.past, 0);
  require_rows(given.field + ".future", scheme.future, 0);
  require_shape(given.field + ".table", given.as<ClippedBiasWeights>().table,
                {scheme.past + scheme.future + 1, given.layer.heads});
  require_whole_distances(given);
}

void check(const GridBias& scheme, const Given& given) {
  require_rows(given.field + ".rows", scheme.rows, 1);
  require_rows(given.field + ".columns", scheme.columns, 1);
  require_shape(given.field + ".table", given.as<GridBiasWeights>().table,
                {(2 * scheme.rows - 1) * (2 * scheme.columns - 1), given.layer.heads});
  require_whole_distances(given, 0, static_cast<double>(scheme.rows - 1));
  require_whole_distances(given, 1, static_cast<double>(scheme.columns - 1));
}

void check(const Kerple&, const Given& given) {
  const auto& learned = given.as<KerpleWeights>();
  require_shape(given.field + ".r1", learned.r1, {given.layer.heads});
  require_shape(given.field + ".r2", learned.r2, {given.layer.heads});
}

// The comparisons are false for a NaN. The width of the hidden layer is whatever its weight has.
void check(const Fire&, const Given& given) {
  const auto& learned = given.as<FireWeights>();
  const bool is_sound = learned.c > 0 && learned.threshold > 0;
  if (!is_sound) refuse(given.field, "have c and threshold above 0", "otherwise");
  const std::int64_t width = learned.hidden.weight.empty() ? 0 : learned.hidden.weight.shape[0];
  require_linear(given.field + ".hidden", learned.hidden, width, 1);
  require_linear(given.field + ".out", learned.out, given.layer.heads, width);
}

void check(const Sandwich& scheme, const Given& given) {
  require_none(given);
  if (scheme.heads != given.layer.heads) {
    refuse(given.field, formatted("be of {} heads", given.layer.heads), formatted("{}", scheme.heads));
  }
  require_at_least(given.field + ".channels", static_cast<double>(scheme.channels), 2);
}

// Each layer takes what the one before gives: 1 number first, one for each head last.
void check(const MlpBias&, const Given& given) {
  const auto& learned = given.as<MlpBiasWeights>();
  if (learned.layers.empty()) refuse(given.field + ".layers", "have at least one layer", "empty");
  std::int64_t inputs = 1;
  for (std::size_t layer = 0; layer < learned.layers.size(); ++layer) {
    const Linear& one = learned.layers[layer];
    const bool is_last = layer + 1 == learned.layers.size();
    const std::int64_t outputs = is_last ? given.layer.heads : one.weight.shape[0];
    require_linear(formatted("{}.layers[{}]", given.field, layer), one, outputs, inputs);
    inputs = outputs;
  }
}

// A row for each distance from -right to left.
void require_shaw_ends(const std::string& field, std::int64_t left, std::int64_t right) {
  require_rows(field + ".left", left, 0);
  require_rows(field + ".right", right, 0);
}

void require_shaw_table(const std::string& field, const ConstTensorView& table, std::int64_t rows, std::int64_t heads,
                        std::int64_t channels) {
  if (table.rank == 3) return require_shape(field + ".table", table, {heads, rows, channels});
  require_shape(field + ".table", table, {rows, channels});
}

void check(const ShawKeys& scheme, const Given& given) {
  require_shaw_ends(given.field, scheme.left, scheme.right);
  require_whole_distances(given);
  if (scheme.sinusoidal) {
    // ShawWeights without a table, which is what named_weights gives, say the same as none.
    const auto* empty = std::get_if<ShawWeights>(&given.weights);
    if (empty == nullptr || !empty->table.empty()) require_none(given);
    return;
  }
  require_shaw_table(given.field, given.as<ShawWeights>().table, scheme.left + scheme.right + 1, given.layer.heads,
                     given.layer.head_dim);
}

void check_values(const ShawValues& scheme, const Given& given) {
  require_shaw_ends(given.field, scheme.left, scheme.right);
  require_whole_distances(given);
  const ConstTensorView& table = given.args.weights.value.table;
  if (scheme.sinusoidal && !table.empty()) refuse(given.field, "hold nothing", "a table");
  if (scheme.sinusoidal) return;
  require_shaw_table(given.field, table, scheme.left + scheme.right + 1, given.layer.heads, given.layer.value_dim);
}

// A row for each distance of the scheme, which has to say which those are. Clamping has to leave what `rows` has.
void require_relative_table(const Given& given, const ConstTensorView& table, const std::optional<Distances>& rows,
                            std::int64_t clamp_length, std::int64_t channels) {
  const std::string field = given.field + ".table";
  if (!rows && clamp_length < 0) {
    refuse(field, "have the distances of its rows, by the scheme's distances or clamp_length,", "without either");
  }
  const Distances kept = rows ? *rows : Distances{-clamp_length, clamp_length};
  // Ends of 64 bits would leave their difference without one.
  if (kept.low < -kMostOfAxis || kept.high > kMostOfAxis || kept.low > kept.high) {
    refuse(field, formatted("have distances from low to high, {} at most,", kMostOfAxis),
           formatted("{} to {}", kept.low, kept.high));
  }
  if (clamp_length >= 0 && (kept.low > clamp_length || kept.high < -clamp_length)) {
    refuse(field, formatted("have distances within clamp_length, {},", clamp_length),
           formatted("{} to {}", kept.low, kept.high));
  }
  require_shape(field, table, {kept.high - kept.low + 1, channels});
  require_whole_distances(given);
}

// The width of the sinusoid is the projection's: an even number or not, at least one sine and one cosine.
void require_transformer_xl(const Given& given, const TransformerXlWeights& learned, bool content, bool position) {
  const LayerPlan& layer = given.layer;
  const std::int64_t channels = learned.projection.rank == 2 ? learned.projection.shape[1] : 0;
  require_at_least(given.field + ".projection: channels", static_cast<double>(channels), learned.table.empty() ? 2 : 1);
  require_shape(given.field + ".projection", learned.projection, {layer.heads * layer.head_dim, channels});
  if (content) require_shape(given.field + ".content_bias", learned.content_bias, {layer.heads, layer.head_dim});
  if (position) require_shape(given.field + ".position_bias", learned.position_bias, {layer.heads, layer.head_dim});
  if (!content && !learned.content_bias.empty()) refuse(given.field + ".content_bias", "be omitted", "given");
  if (!position && !learned.position_bias.empty()) refuse(given.field + ".position_bias", "be omitted", "given");
}

void check(const TransformerXl& scheme, const Given& given) {
  const auto& learned = given.as<TransformerXlWeights>();
  require_transformer_xl(given, learned, scheme.content_bias, scheme.position_bias);
  if (learned.table.empty()) return;
  require_relative_table(given, learned.table, scheme.distances, scheme.clamp_length, learned.projection.shape[1]);
}

void check(const XlNet& scheme, const Given& given) {
  const auto& learned = given.as<XlNetWeights>();
  require_transformer_xl(given, learned.positions, true, true);
  if (const ConstTensorView& table = learned.positions.table; !table.empty()) {
    require_relative_table(given, table, {}, scheme.clamp_length, learned.positions.projection.shape[1]);
  }
  if (scheme.bidirectional_data && (given.args.q.rank != 4 || given.args.q.shape[0] % 2 != 0)) {
    refuse("q", "be a batch of an even number of sequences, since half of them are read backwards", "otherwise");
  }
  if (learned.segments.empty() && learned.segment_bias.empty()) return;
  require_shape(given.field + ".segments", learned.segments, {2, given.layer.heads, given.layer.head_dim});
  require_shape(given.field + ".segment_bias", learned.segment_bias, {given.layer.heads, given.layer.head_dim});
  const bool has_queries = std::ssize(given.args.inputs.q_segments) == given.rows.queries;
  const bool has_keys = std::ssize(given.args.inputs.k_segments) == given.rows.keys;
  if (!has_queries || !has_keys) {
    refuse("q_segments and k_segments", "be given, since there are weights for segments", "omitted");
  }
}

void check(const Deberta& scheme, const Given& given) {
  const auto& learned = given.as<DebertaWeights>();
  require_at_most_of_axis(given.field + (scheme.buckets > 0 ? ".buckets" : ".max_distance"), deberta_span(scheme));
  deberta_row(scheme, deberta_span(scheme));  // throws for numbers that make no buckets, exact ones and far ones
  const std::int64_t channels = learned.table.rank == 2 ? learned.table.shape[1] : 0;
  const std::int64_t outputs = given.layer.heads * given.layer.head_dim;
  require_shape(given.field + ".table", learned.table, {2 * deberta_span(scheme), channels});
  if (scheme.content_to_position || scheme.position_to_position) {
    require_linear(given.field + ".keys", learned.keys, outputs, channels);
  }
  if (scheme.position_to_content || scheme.position_to_position) {
    require_linear(given.field + ".queries", learned.queries, outputs, channels);
  }
  require_whole_distances(given);
}

void check(const DecomposedHw& scheme, const Given& given) {
  const auto& learned = given.as<DecomposedHwWeights>();
  if (scheme.rows % 2 != 1) refuse(given.field + ".rows", "be odd, 2 side - 1", formatted("{}", scheme.rows));
  require_shape(given.field + ".rows", learned.rows, {scheme.rows, given.layer.head_dim});
  require_shape(given.field + ".columns", learned.columns, {scheme.rows, given.layer.head_dim});
  for (const std::size_t axis : {0U, 1U}) {
    require_whole_distances(given, axis, static_cast<double>((scheme.rows - 1) / 2));
  }
}

// Positions are counted by gates, so distances do not matter here.
void check(const ContextualPosition& scheme, const Given& given) {
  require_at_least(given.field + ".positions", static_cast<double>(scheme.positions), 1);
  require_shape(given.field + ".table", given.as<CopeWeights>().table, {scheme.positions, given.layer.head_dim});
}

void check(const ForgetGate&, const Given& given) {
  require_none(given);
  require_shape("log_forget", given.args.inputs.log_forget, {given.rows.keys, given.layer.heads});
}

void check(const DistanceLogits& scheme, const Given& given) {
  require_none(given);
  require_at_least(given.field + ".extent", static_cast<double>(scheme.extent), 1);
  if (given.args.inputs.bias.empty()) refuse("bias", "have the logits by distance", "omitted");
}

}  // namespace

// The list of weights is as long as that of the terms, or empty where no term has any. The value stage's table is
// checked here too, since it is by distance.
void check_score_terms(const LayerPlan& layer, const AttendArgs& args, const CallRows& rows) {
  static const ScoreWeights kNone;
  const std::vector<ScoreWeights>& all = args.weights.score;
  if (!all.empty() && all.size() != layer.score.size()) {
    refuse("weights.score", formatted("have an entry for each of {} terms", layer.score.size()),
           formatted("{} long", all.size()));
  }
  for (std::size_t t = 0; t < layer.score.size(); ++t) {
    const Given given{layer, args, rows, all.empty() ? kNone : all[t], formatted("weights.score[{}]", t)};
    std::visit([&](const auto& scheme) { check(scheme, given); }, layer.score[t]);
  }
  if (const auto* shaw = std::get_if<ShawValues>(&layer.value)) {
    check_values(*shaw, {layer, args, rows, kNone, "weights.value"});
  }
}

}  // namespace posenc::math
