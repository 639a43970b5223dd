// The keys of a plan's JSON, each stated once with its range: the writer, the reader and describe() all walk these.
//
// A visitor offers
//   field(key, member, range)      a member that is always there; a struct becomes an object
//   nullable(key, optional, range) null when absent
//   given(key, optional, range)    left out when absent
//   unless(key, member, usual)     left out when it is the usual one
//   text(key, string)              null when empty
// fields() takes the struct const or not, so that one text serves both directions. Rotate is not here: it carries what
// is computed (inv_freq, attention_factor), and its reader checks it.
#pragma once

#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

#include "posenc/plan.h"

namespace posenc::plan {

struct Range {
  double low = -std::numeric_limits<double>::infinity();
  bool low_is_inside = true;
  std::size_t most_bytes = std::numeric_limits<std::size_t>::max();  // of a text
};
constexpr Range at_least(double low) { return {.low = low}; }
constexpr Range above(double low) { return {.low = low, .low_is_inside = false}; }
// Of names that are said again for each layer or each pair that they are about.
constexpr Range at_most_bytes(std::size_t bytes) { return {.most_bytes = bytes}; }

// What the visitors that show a plan have in common: which fields they are not shown.
// `Visitor` has field(key, what).
template <typename Visitor>
class OptionalFields {
 public:
  template <typename T>
  void given(std::string_view key, const std::optional<T>& what, Range = {}) {
    if (what) static_cast<Visitor&>(*this).field(key, *what);
  }
  template <typename T>
  void unless(std::string_view key, const T& what, const T& usual) {
    if (what != usual) static_cast<Visitor&>(*this).field(key, what);
  }
};

template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

// ---- scaling rules; check() knows their ranges ----

void fields(auto& v, Is<LinearScaling> auto& s) { v.field("factor", s.factor); }

void fields(auto& v, Is<NtkScaling> auto& s) { v.field("alpha", s.alpha); }

void fields(auto& v, Is<DynamicScaling> auto& s) {
  v.field("factor", s.factor);
  v.field("max_position_embeddings", s.max_position_embeddings);
}

void fields(auto& v, Is<QwenNtkScaling> auto& s) { v.field("seq_length", s.seq_length); }

void fields(auto& v, Is<YarnScaling> auto& s) {
  v.field("factor", s.factor);
  v.field("original_max_position_embeddings", s.original_max_position_embeddings);
  v.given("attention_factor", s.attention_factor);
  v.given("beta_fast", s.beta_fast);
  v.given("beta_slow", s.beta_slow);
  v.given("mscale", s.mscale);
  v.given("mscale_all_dim", s.mscale_all_dim);
  v.field("truncate", s.truncate);
}

void fields(auto& v, Is<LongRopeScaling> auto& s) {
  v.field("short_factor", s.short_factor);
  v.field("long_factor", s.long_factor);
  v.field("original_max_position_embeddings", s.original_max_position_embeddings);
  v.field("factor", s.factor);
  v.given("attention_factor", s.attention_factor);
  v.given("short_mscale", s.short_mscale);
  v.given("long_mscale", s.long_mscale);
}

void fields(auto& v, Is<Llama3Scaling> auto& s) {
  v.field("factor", s.factor);
  v.field("low_freq_factor", s.low_freq_factor);
  v.field("high_freq_factor", s.high_freq_factor);
  v.field("original_max_position_embeddings", s.original_max_position_embeddings);
}

void fields(auto& v, Is<ProportionalScaling> auto& s) {
  v.field("partial_rotary_factor", s.partial_rotary_factor);
  v.field("factor", s.factor);
}

void fields(auto& v, Is<FactorListScaling> auto& s) { v.field("factors", s.factors); }

// ---- input ----

void fields(auto& v, Is<LearnedInput> auto& s) {
  v.field("positions", s.positions, at_least(0));
  v.field("offset", s.offset);
  v.nullable("token_types", s.token_types, at_least(1));
  v.field("embedding_multiplier", s.embedding_multiplier);
  v.unless("combine", s.combine, InputCombine::add);
  v.unless("tokens", s.tokens, {});
}

void fields(auto& v, Is<SinusoidalInput> auto& s) {
  v.field("convention", s.convention);
  v.field("offset", s.offset);
  v.nullable("positions", s.positions, at_least(1));
  v.text("axis", s.axis);
  v.field("embedding_multiplier", s.embedding_multiplier);
  v.field("learned_scale", s.learned_scale);
  v.unless("combine", s.combine, InputCombine::add);
}

void fields(auto& v, Is<AxialInput> auto& s) {
  v.field("shape", s.shape, at_least(1));
  v.field("combine", s.combine);
  v.field("dims", s.dims, at_least(1));
  v.unless("tokens", s.tokens, {});
}

void fields(auto& v, Is<TileInput> auto& s) {
  v.field("rows", s.rows, at_least(1));
  v.field("tiles", s.tiles, at_least(1));
  v.field("positions", s.positions, at_least(0));
}

void fields(auto& v, Is<ConvolutionInput> auto& s) {
  v.field("kernel", s.kernel, at_least(1));
  v.field("groups", s.groups, at_least(1));
  v.field("layers", s.layers, at_least(1));
  v.field("stride", s.stride, at_least(1));
}

void fields(auto& v, Is<IntegerInput> auto& s) {
  v.field("normalised", s.normalised);
  v.field("offset", s.offset);
  v.field("embedding_multiplier", s.embedding_multiplier);
  v.unless("combine", s.combine, InputCombine::add);
}

void fields(auto& v, Is<BinaryInput> auto& s) {
  v.field("offset", s.offset);
  v.field("embedding_multiplier", s.embedding_multiplier);
  v.unless("combine", s.combine, InputCombine::add);
}

void fields(auto& v, Is<AxisSinesInput> auto& s) {
  v.field("axes", s.axes, at_most_bytes(64));
  v.field("interleaved", s.interleaved);
  v.field("base", s.base, above(0));
  v.field("normalised", s.normalised);
  v.field("scale", s.scale);
  v.field("offset", s.offset);
  v.field("of", s.of);
  v.field("learned_map", s.learned_map);
}

void fields(auto& v, Is<FourierInput> auto& s) {
  v.field("of", s.of);
  v.nullable("kinds", s.kinds, at_least(1));
}

void fields(auto& v, Is<PerceptronInput> auto& s) {
  v.field("coordinates", s.coordinates, at_least(1));
  v.field("of", s.of);
}

// ---- score ----

void fields(auto& v, Is<Alibi> auto& s) {
  v.field("heads", s.heads, at_least(1));
  v.field("max_bias", s.max_bias);
  v.field("symmetric", s.symmetric);
  v.field("scaled", s.scaled);
  v.field("form", s.form);
  v.unless("geometric_slopes", s.geometric_slopes, false);
}

void fields(auto& v, Is<T5Bias> auto& s) {
  v.field("buckets", s.buckets, at_least(1));
  v.field("max_distance", s.max_distance, at_least(1));
  v.field("bidirectional", s.bidirectional);
  v.field("table_per_layer", s.table_per_layer);
  v.field("gated", s.gated);
  v.unless("axis", s.axis, std::int64_t{0});
  v.unless("scaled", s.scaled, false);
}

void fields(auto& v, Is<ClippedBias> auto& s) {
  v.field("past", s.past, at_least(0));
  v.field("future", s.future, at_least(0));
}

void fields(auto& v, Is<GridBias> auto& s) {
  v.field("rows", s.rows, at_least(1));
  v.field("columns", s.columns, at_least(1));
}

void fields(auto& v, Is<Kerple> auto& s) { v.field("form", s.form); }

void fields(auto&, Is<Fire> auto&) {}

void fields(auto& v, Is<Sandwich> auto& s) {
  v.field("heads", s.heads, at_least(1));
  v.field("channels", s.channels, at_least(2));
}

void fields(auto& v, Is<MlpBias> auto& s) { v.field("logarithmic", s.logarithmic); }

void fields(auto& v, Is<ShawKeys> auto& s) {
  v.field("left", s.left, at_least(0));
  v.field("right", s.right, at_least(0));
  v.field("sinusoidal", s.sinusoidal);
  v.unless("by_keys", s.by_keys, false);
}

void fields(auto& v, Is<Distances> auto& s) {
  v.field("low", s.low);
  v.field("high", s.high);
}

void fields(auto& v, Is<TransformerXl> auto& s) {
  v.field("clamp_length", s.clamp_length, at_least(-1));
  v.field("content_bias", s.content_bias);
  v.field("position_bias", s.position_bias);
  v.field("sinusoid", s.sinusoid);
  v.nullable("distances", s.distances);
}

void fields(auto& v, Is<XlNet> auto& s) {
  v.field("clamp_length", s.clamp_length, at_least(-1));
  v.field("bidirectional_data", s.bidirectional_data);
}

void fields(auto& v, Is<Deberta> auto& s) {
  v.field("buckets", s.buckets, at_least(0));
  v.field("max_distance", s.max_distance, at_least(1));
  v.field("content_to_position", s.content_to_position);
  v.field("position_to_content", s.position_to_content);
  v.field("position_to_position", s.position_to_position);
  v.field("shared_projection", s.shared_projection);
}

void fields(auto& v, Is<DecomposedHw> auto& s) { v.field("rows", s.rows, at_least(1)); }

void fields(auto& v, Is<ContextualPosition> auto& s) { v.field("positions", s.positions, at_least(1)); }

void fields(auto&, Is<ForgetGate> auto&) {}

void fields(auto& v, Is<DistanceLogits> auto& s) {
  v.field("extent", s.extent, at_least(1));
  v.field("channels", s.channels, at_least(1));
}

// ---- regions ----

void fields(auto& v, Is<SelfExtend> auto& s) {
  v.field("group", s.group, at_least(1));
  v.field("window", s.window, at_least(0));
}

void fields(auto& v, Is<ReRope> auto& s) {
  v.field("window", s.window, at_least(0));
  v.nullable("step", s.step, above(0));
}

void fields(auto& v, Is<DualChunk> auto& s) {
  v.field("chunk", s.chunk, at_least(1));
  v.field("local", s.local, at_least(0));
  v.field("trained", s.trained, at_least(1));
}

// ---- value ----

void fields(auto& v, Is<ShawValues> auto& s) {
  v.field("left", s.left, at_least(0));
  v.field("right", s.right, at_least(0));
  v.unless("sinusoidal", s.sinusoidal, false);
}

void fields(auto& v, Is<RotatedValues> auto& s) { v.field("inverse_on_output", s.inverse_on_output); }

// ---- query scale ----

void fields(auto& v, Is<Llama4Temperature> auto& s) {
  v.field("attn_scale", s.attn_scale);
  v.field("floor_scale", s.floor_scale, above(0));
}

void fields(auto& v, Is<MinistralTemperature> auto& s) {
  v.field("beta", s.beta);
  v.field("original_max_position_embeddings", s.original_max_position_embeddings, at_least(1));
}

void fields(auto& v, Is<LogNScale> auto& s) { v.field("seq_length", s.seq_length, at_least(2)); }

void fields(auto& v, Is<BeamTemperature> auto& s) {
  v.field("exponent", s.exponent);
  v.field("length", s.length, above(0));
}

void fields(auto& v, Is<InklingTemperature> auto& s) {
  v.field("alpha", s.alpha);
  v.field("floor", s.floor, above(0));
}

// ---- layers ----

void fields(auto& v, Is<Window> auto& s) {
  v.field("past", s.past, at_least(0));
  v.field("future", s.future, at_least(0));
}

void fields(auto& v, Is<SoftCap> auto& s) {
  v.field("cap", s.cap, above(0));
  v.field("order", s.order);
}

void fields(auto& v, Is<QkNorm> auto& s) {
  v.field("kind", s.kind);
  v.field("order", s.order);
  v.field("weighted", s.weighted);
  v.field("over", s.over);
  v.field("of", s.of);
  v.unless("weighted_queries", s.weighted_queries, true);
}

void fields(auto& v, Is<Mask> auto& s) {
  v.field("kind", s.kind);
  v.nullable("window", s.window);
  v.nullable("chunk", s.chunk, at_least(1));
  v.text("detail", s.detail);
  v.unless("beyond_window", s.beyond_window, false);
  v.unless("by_blocks", s.by_blocks, false);
  v.unless("by_indexer", s.by_indexer, false);
}

void fields(auto& v, Is<Mixing> auto& s) {
  v.nullable("tokens_before", s.tokens_before, at_least(0));
  v.field("outputs", s.outputs);
  v.nullable("beside", s.beside);
}

void fields(auto& v, Is<Added> auto& s) {
  v.field("to", s.to);
  v.unless("how", s.how, AddedHow::before_projection);
  v.unless("gated", s.gated, false);
  v.field("scheme", s.scheme);
}

// What layers of every kind have beside their index.
void kind_fields(auto& v, Is<LayerPlan> auto& s) {
  v.field("kind", s.kind);
  v.unless("begins_apart", s.begins_apart, false);
}

// What a layer has beyond that. A size of 0 is one that is not known.
void attention_fields(auto& v, Is<LayerPlan> auto& s) {
  v.field("heads", s.heads, at_least(0));
  v.field("kv_heads", s.kv_heads, at_least(0));
  v.field("head_dim", s.head_dim, at_least(0));
  v.field("value_dim", s.value_dim, at_least(0));
  v.nullable("kv_from", s.kv_from, at_least(0));
  v.nullable("compression", s.compression, at_least(1));
  v.unless("mixing", s.mixing, {});
  v.field("softmax_scale", s.softmax_scale);
  v.field("channel_scale", s.channel_scale);
  v.nullable("soft_cap", s.soft_cap);
  v.field("sinks", s.sinks);
  v.nullable("qk_norm", s.qk_norm);
  v.field("mask", s.mask);
  v.unless("added", s.added, {});
  v.field("rotate", s.rotate);
  v.field("regions", s.regions);
  v.field("score", s.score);
  v.field("value", s.value);
  v.field("query_scale", s.query_scale);
}

void fields(auto& v, Is<Stack> auto& s) {
  v.field("name", s.name, at_most_bytes(256));
  v.unless("fed_by", s.fed_by, FedBy::not_said);
  v.unless("known", s.known, true);
  v.unless("unknown", s.unknown, {});
  v.field("input", s.input);
  v.field("layers", s.layers);
}

// ---- the plan ----

void fields(auto& v, Is<PlanSource> auto& s) {
  v.field("kind", s.kind);
  v.field("name", s.name);
}

void fields(auto& v, Is<Warning> auto& s) {
  v.field("code", s.code);
  v.field("message", s.message);
  v.field("keys", s.keys);
}

void fields(auto& v, Is<Plan> auto& s) {
  v.field("known", s.known);
  v.field("model_type", s.model_type);
  v.field("family", s.family);
  v.field("source", s.source);
  v.nullable("trained_length", s.trained_length, at_least(1));
  v.nullable("length", s.length, at_least(1));
  v.field("stacks", s.stacks);
  v.field("sources", s.sources);
  v.field("absent_keys", s.absent_keys);
  v.field("ignored_keys", s.ignored_keys);
  v.field("warnings", s.warnings);
}

}  // namespace posenc::plan
