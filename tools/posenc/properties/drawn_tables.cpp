// For `posenc bench attend` without --weights. Time does not depend on the numbers, so any will do that a scheme takes:
// KERPLE's r1 and r2 not below 0, logarithms of forget gates not above. Shapes are those of posenc/attention.h.
#include "properties/drawn_tables.h"

#include <cmath>
#include <initializer_list>
#include <utility>
#include <variant>
#include <vector>

#include "posenc/scores.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kFireWidth = 32;    // arXiv 2310.04418, section 4
constexpr double kFireThreshold = 512;     // L
constexpr std::int64_t kPerceptron = 512;  // Swin v2's, arXiv 2111.09883
constexpr float kSmall = 0.1F;

// Draws what a term needs into `to`, where views of it stay valid: `drawn` is a deque.
class Drawing {
 public:
  Drawing(const LayerPlan& layer, LayerTables& to) : layer_(layer), to_(to) {}

  // Within `scale` of 0.
  ConstTensorView table(std::initializer_list<std::int64_t> shape, float scale = kSmall) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    std::vector<float>& values = to_.drawn.emplace_back(static_cast<std::size_t>(count));
    for (float& x : values) x = scale * next();
    return tensor(std::as_const(values).data(), shape);
  }
  // From 0 to `scale`, or of a negative one from that to 0.
  ConstTensorView one_sided(std::initializer_list<std::int64_t> shape, float scale) {
    const ConstTensorView out = table(shape, 1.0F);
    for (float& x : to_.drawn.back()) x = scale * std::abs(x);
    return out;
  }
  // Outputs of the size of the inputs, however many of these there are.
  Linear linear(std::int64_t outputs, std::int64_t inputs) {
    const float spread = 1.0F / std::sqrt(static_cast<float>(inputs));
    return {.weight = table({outputs, inputs}, spread), .bias = table({outputs})};
  }

  // ---- what each scheme has ----

  ScoreWeights operator()(const Alibi&) { return {}; }
  ScoreWeights operator()(const Sandwich&) { return {}; }
  ScoreWeights operator()(const ForgetGate&) { return {}; }
  ScoreWeights operator()(const DistanceLogits&) { return {}; }
  ScoreWeights operator()(const T5Bias& x) { return T5Weights{table({x.buckets, heads()})}; }
  ScoreWeights operator()(const ClippedBias& x) { return ClippedBiasWeights{table({x.past + x.future + 1, heads()})}; }
  ScoreWeights operator()(const GridBias& x) {
    return GridBiasWeights{table({(2 * x.rows - 1) * (2 * x.columns - 1), heads()})};
  }
  ScoreWeights operator()(const Kerple&) {
    return KerpleWeights{one_sided({heads()}, 1.0F), one_sided({heads()}, 1.0F)};
  }
  ScoreWeights operator()(const Fire&) {
    return FireWeights{
        .c = 0.1, .threshold = kFireThreshold, .hidden = linear(kFireWidth, 1), .out = linear(heads(), kFireWidth)};
  }
  ScoreWeights operator()(const MlpBias&) {
    return MlpBiasWeights{{linear(kPerceptron, 1), linear(heads(), kPerceptron)}};
  }
  ScoreWeights operator()(const ShawKeys& x) { return rows_by_distance(x); }
  ScoreWeights operator()(const TransformerXl& x) { return positions(x.content_bias, x.position_bias); }
  ScoreWeights operator()(const XlNet&) {
    return XlNetWeights{.positions = positions(true, true),
                        .segment_bias = table({heads(), channels()}),
                        .segments = table({2, heads(), channels()})};
  }
  // keys project the table for content to position, queries for position to content, both for position to position.
  ScoreWeights operator()(const Deberta& x) {
    DebertaWeights out{.table = table({2 * deberta_span(x), width()})};
    if (x.content_to_position || x.position_to_position) out.keys = linear(width(), width());
    if (x.position_to_content || x.position_to_position) out.queries = linear(width(), width());
    return out;
  }
  ScoreWeights operator()(const DecomposedHw& x) {
    return DecomposedHwWeights{table({x.rows, channels()}), table({x.rows, channels()})};
  }
  ScoreWeights operator()(const ContextualPosition& x) { return CopeWeights{table({x.positions, channels()})}; }

  // Rows of keys have a head's channels, rows of values those of a value. Sines of the distance need no table.
  template <typename Shaw>
  ShawWeights rows_by_distance(const Shaw& x) {
    if (x.sinusoidal) return {};
    return {table({x.left + x.right + 1, std::is_same_v<Shaw, ShawValues> ? layer_.value_dim : channels()})};
  }

 private:
  std::int64_t heads() const { return layer_.heads; }
  std::int64_t channels() const { return layer_.head_dim; }
  std::int64_t width() const { return heads() * channels(); }  // the hidden state's, as most models have it
  TransformerXlWeights positions(bool content_bias, bool position_bias) {
    TransformerXlWeights out{.projection = table({width(), width()}, 1.0F / static_cast<float>(width()))};
    if (content_bias) out.content_bias = table({heads(), channels()});
    if (position_bias) out.position_bias = table({heads(), channels()});
    return out;
  }
  // From -1 to 1.
  float next() {
    state_ = state_ * 1664525U + 1013904223U;  // Numerical Recipes' generator
    return static_cast<float>(static_cast<std::int32_t>(state_)) * 0x1p-31F;
  }

  const LayerPlan& layer_;
  LayerTables& to_;
  std::uint32_t state_ = 7;
};

// Of two segments, the first half of the tokens in the first.
std::vector<std::int32_t> two_segments(std::int64_t all, std::int64_t first, std::int64_t count) {
  std::vector<std::int32_t> out;
  for (std::int64_t n = 0; n < count; ++n) out.push_back(2 * (first + n) < all ? 0 : 1);
  return out;
}

}  // namespace

LayerTables draw_tables(const LayerPlan& layer) {
  LayerTables out;
  Drawing draw(layer, out);
  for (const ScoreTerm& term : layer.score) out.weights.score.push_back(std::visit(draw, term));
  if (const auto* shaw = std::get_if<ShawValues>(&layer.value)) out.weights.value = draw.rows_by_distance(*shaw);
  if (layer.sinks) out.weights.sinks = draw.table({layer.heads});
  return out;
}

void draw_inputs(const LayerPlan& layer, std::int64_t queries, std::int64_t keys, LayerTables& to) {
  Drawing draw(layer, to);
  for (const ScoreTerm& term : layer.score) {
    if (const auto* t5 = std::get_if<T5Bias>(&term); t5 != nullptr && t5->gated) {
      to.row_gate = draw.one_sided({queries, layer.heads}, 1.0F);
    }
    if (std::holds_alternative<ForgetGate>(term)) to.log_forget = draw.one_sided({keys, layer.heads}, -kSmall);
    if (std::holds_alternative<XlNet>(term)) {
      to.k_segments = two_segments(keys, 0, keys);
      // Queries are the last tokens of the sequence.
      to.q_segments = two_segments(keys, keys - queries, queries);
    }
  }
}

}  // namespace posenc::tool
