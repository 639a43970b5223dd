#include "plan/text_stack.h"

#include <fmt/compile.h>

#include <algorithm>
#include <string>
#include <utility>

#include "plan/attention_shape.h"
#include "plan/indexer.h"
#include "plan/layer_kinds.h"
#include "plan/layer_masks.h"
#include "plan/layer_pattern.h"
#include "plan/layer_scores.h"
#include "plan/layer_sizes.h"
#include "plan/layer_sources.h"
#include "plan/query_scale.h"
#include "plan/rope_draft.h"
#include "plan/scheme_choice.h"
#include "plan/sparse_masks.h"

namespace posenc::plan {
namespace {

// ---- one kind of layer ----

struct StackFacts {
  std::vector<AttentionShape> shapes;
  LayerPattern pattern;
  LayerScores scores;
  LayerMasks masks;
  std::optional<Indexer> indexer;
  Selection selection;
  Sourced<std::int64_t> trained_length;
  SchemeChoice scheme;
  Sourced<QueryScale> query_scale;
};

struct LayerKindPlan {
  LayerTraits traits;
  LayerPlan plan;
  std::vector<FieldSource> sources;
};

const AttentionShape& shape_of(const StackFacts& facts, const LayerTraits& traits) {
  return facts.shapes[static_cast<std::size_t>(traits.shape)];
}

void add_sources(std::string_view prefix, std::vector<FieldSource> sources, LayerKindPlan& layer) {
  for (FieldSource& source : sources) {
    layer.sources.push_back({fmt::format(FMT_COMPILE("{}/{}"), prefix, source.field), std::move(source.from)});
  }
}

void add_rotation(RopeDicts& dicts, const StackFacts& facts, LayerKindPlan& layer) {
  if (!layer.traits.turns) {
    const bool by_kind = layer.traits.kind != LayerKind::attention;
    layer.sources.push_back({"rotate", by_kind ? facts.pattern.kinds_from : facts.pattern.turning_from});
    return;
  }
  const AttentionShape& shape = shape_of(facts, layer.traits);
  RopeDraft draft = read_rope(dicts, layer.traits, shape, facts.trained_length,
                              static_cast<std::int64_t>(facts.pattern.layers.size()));
  if (!draft.rope) {
    layer.sources.push_back({"rotate", std::move(draft.still_from)});
    return;
  }
  if (shape.latent) {
    const double multiplier = softmax_multiplier(draft.rope->scaling);
    layer.plan.logit_scale *= multiplier;
    if (multiplier != 1)
      layer.sources.push_back({"logit_scale", "default: g(factor, mscale_all_dim)^2 / sqrt(head_dim)"});
  }
  IndexerRotation chooser;
  if (facts.indexer && layer.traits.choice == Choice::own) {
    chooser = indexer_rotation(dicts.scope(), *facts.indexer, *draft.rope, draft.sources);
  }
  layer.plan.rotate.reserve(chooser.rotate ? 2 : 1);
  layer.plan.rotate.push_back(Rotate{.heads = shape.heads.value, .scheme = std::move(*draft.rope)});
  add_sources("rotate/0", std::move(draft.sources), layer);
  if (!chooser.rotate) return;
  layer.plan.rotate.push_back(std::move(*chooser.rotate));
  add_sources("rotate/1", std::move(chooser.sources), layer);
}

void add_bias(const StackFacts& facts, LayerKindPlan& layer) {
  if (!facts.scheme.alibi) return;
  layer.plan.score.push_back(*facts.scheme.alibi);
  layer.sources.push_back({"score/0", facts.scheme.from});
}

void add_mask(ConfigScope& scope, const StackFacts& facts, LayerKindPlan& layer) {
  Mask& mask = layer.plan.mask;
  mask.kind = facts.masks.kind.value;
  layer.sources.push_back({"mask/kind", facts.masks.kind.from});
  const bool slides = layer.traits.type == LayerType::sliding;
  if (slides) mask.window = facts.masks.window;
  if (slides) mask.detail = facts.masks.sliding_detail.value;
  layer.sources.push_back({"mask/window", slides ? facts.masks.window_from : facts.pattern.types_from});
  const bool chunked = layer.traits.type == LayerType::chunked;
  if (chunked) mask.chunk = facts.pattern.chunk.value;
  if (chunked) layer.sources.push_back({"mask/chunk", facts.pattern.chunk.from});
  if (!mask.detail.empty()) layer.sources.push_back({"mask/detail", facts.masks.sliding_detail.from});
  refine_mask(scope, facts.pattern, facts.selection, layer.traits, mask, layer.sources);
}

// Keys and values that are another layer's, made of several tokens, or turned.
void add_keys_and_values(ConfigScope& scope, const StackFacts& facts, LayerKindPlan& layer) {
  const LayerTraits& traits = layer.traits;
  if (traits.kv_from >= 0) layer.plan.kv_from = traits.kv_from;
  if (scope.family().shares_kv) layer.sources.push_back({"kv_from", facts.pattern.kv_from});
  if (traits.compression > 0) layer.plan.compression = traits.compression;
  if (scope.family().compressed_keys) layer.sources.push_back({"compression", facts.pattern.compression_from});
  if (!scope.family().rotates_values) return;
  layer.plan.value = RotatedValues{.inverse_on_output = true};
  layer.sources.push_back({"value", family_default(scope.family())});
}

void add_scores(ConfigScope& scope, const StackFacts& facts, LayerKindPlan& layer) {
  const LayerScores& scores = facts.scores;
  LayerPlan& plan = layer.plan;
  if (std::ranges::find(layer.sources, "logit_scale", &FieldSource::field) == layer.sources.end()) {
    layer.sources.push_back({"logit_scale", scores.scales[static_cast<std::size_t>(layer.traits.shape)].from});
  }
  if (scores.soft_cap.value) plan.soft_cap = SoftCap{.cap = *scores.soft_cap.value};
  plan.sinks = scope.family().sinks;
  const auto& rule = scope.family().qk_norm;
  const bool is_cross = layer.traits.kind == LayerKind::cross_attention;
  const bool norm =
      (layer.traits.turns || !rule || !rule->turning_layers_only) && (is_cross || !rule || !rule->cross_layers_only);
  if (norm) plan.qk_norm = scores.qk_norm;
  layer.sources.push_back({"soft_cap", scores.soft_cap.from});
  layer.sources.push_back({"sinks", family_default(scope.family())});
  const std::string& resting = rule && rule->cross_layers_only ? facts.pattern.kinds_from : facts.pattern.turning_from;
  layer.sources.push_back({"qk_norm", norm ? scores.qk_norm_from : resting});
  const QueryScaling scaling = scope.family().query_scaling;
  const bool rests = !layer.traits.turns;
  if (scaling == QueryScaling::none || (scaling == QueryScaling::resting_layers && !rests)) return;
  plan.query_scale = facts.query_scale.value;
  layer.sources.push_back({"query_scale", facts.query_scale.from});
}

LayerKindPlan plan_of(ConfigScope& scope, RopeDicts& dicts, const StackFacts& facts, LayerTraits traits) {
  LayerKindPlan layer{.traits = traits, .plan = {}, .sources = {}};
  layer.plan.kind = traits.kind;
  if (scope.family().kinds != Kinds::attention) layer.sources.push_back({"kind", facts.pattern.kinds_from});
  if (!attends(traits.kind)) return layer;
  const AttentionShape& shape = shape_of(facts, traits);
  layer.plan.heads = shape.heads.value;
  layer.plan.kv_heads = shape.kv_heads.value;
  layer.plan.head_dim = shape.head_dim.value;
  layer.plan.value_dim = shape.value_dim.value;
  layer.plan.logit_scale = facts.scores.scales[static_cast<std::size_t>(traits.shape)].value;
  layer.sources.insert(layer.sources.end(), {{"heads", shape.heads.from},
                                             {"kv_heads", shape.kv_heads.from},
                                             {"head_dim", shape.head_dim.from},
                                             {"value_dim", shape.value_dim.from}});
  add_rotation(dicts, facts, layer);
  add_bias(facts, layer);
  add_scores(scope, facts, layer);
  add_mask(scope, facts, layer);
  add_keys_and_values(scope, facts, layer);
  return layer;
}

// So many plans are remembered at a time, each with a text for every field: all kinds of a real model, and no more than
// 200 kB where a hostile file makes each layer another kind.
constexpr std::size_t kMaxKinds = 32;

// Equal layers are planned once and copied.
void fill_layers(ConfigScope& scope, RopeDicts& dicts, const StackFacts& facts, std::string_view prefix,
                 TextStack& result) {
  std::vector<LayerKindPlan> kinds;
  LayerSources sources;
  result.stack.layers.reserve(facts.pattern.layers.size());
  for (const LayerTraits& traits : facts.pattern.layers) {
    auto kind = std::ranges::find(kinds, traits, &LayerKindPlan::traits);
    if (kind == kinds.end()) {
      if (kinds.size() == kMaxKinds) kinds.clear();
      kind = kinds.insert(kinds.end(), plan_of(scope, dicts, facts, traits));
    }
    if (scope.reader().failed()) return;
    const auto index = static_cast<std::int64_t>(result.stack.layers.size());
    result.stack.layers.push_back(kind->plan);
    result.stack.layers.back().index = index;
    sources.add(index, kind->sources);
  }
  std::vector<ValueSource> merged = sources.merged(fmt::format(FMT_COMPILE("{}/layers"), prefix));
  result.sources.insert(result.sources.end(), std::make_move_iterator(merged.begin()),
                        std::make_move_iterator(merged.end()));
}

// ---- keys that look as if they meant something ----

bool says_nothing(ConfigReader& reader, const Place& place) {
  switch (place.value.kind()) {
    case io::JsonKind::null: return true;
    case io::JsonKind::boolean: return !reader.boolean(place).value_or(true);
    case io::JsonKind::number: return place.value.as_double().ok() && *place.value.as_double() == 1;
    default: return false;
  }
}

void warn_misleading(ConfigScope& scope) {
  for (std::string_view name : scope.family().misleading_keys) {
    const auto place = scope.reader().look(scope.object(), name);
    if (!place || says_nothing(scope.reader(), *place)) continue;
    scope.reader().warn(
        "misleading-key",
        fmt::format(FMT_COMPILE("{} has no effect: a {} model does not read it."), place->from, scope.family().name),
        {place->from});
  }
}

// The sources disagree about ChatGLM's other layout: ChatGLM2's own code knows only one, vLLM pairs halves.
bool has_known_layout(ConfigScope& scope, AttentionShape& shape) {
  if (scope.family().base != BaseRule::ratio) return true;
  const Setting<bool> original = scope.flag(keys::kOriginalRope);
  if (!original.value) return true;
  shape.pairing.from = original.from;
  if (*original.value) return true;
  scope.reader().warn(
      "undecided",
      fmt::format(FMT_COMPILE("{} is false: which channels then turn together is not known."), original.from),
      {original.from});
  return false;
}

bool is_decided(ConfigScope& scope) {
  bool decided = true;
  for (std::string_view name : scope.family().undecided_keys) {
    const auto place = scope.reader().look(scope.object(), name);
    if (!place || says_nothing(scope.reader(), *place)) continue;
    scope.reader().warn("undecided",
                        fmt::format(FMT_COMPILE("{} is given: what it does to positions is not read."), place->from),
                        {place->from});
    decided = false;
  }
  if (scope.family().undecided.empty()) return decided;
  scope.reader().warn(
      "undecided",
      fmt::format(FMT_COMPILE("No source says of {} models: {}."), scope.family().name, scope.family().undecided), {});
  return false;
}

Sourced<std::int64_t> read_trained_length(ConfigScope& scope) {
  constexpr Bounds kLengths{1, kMaxPosition};
  if (scope.family().needs_length) return scope.required_integer(keys::kLength, kLengths);
  Setting<std::int64_t> length = scope.integer(keys::kLength, kLengths);
  return {length.value.value_or(0), length.value ? std::move(length.from) : "default: not given"};
}

void add_input(const StackFacts& facts, std::string_view prefix, TextStack& result) {
  if (!facts.scheme.table) return;
  result.stack.input.push_back(*facts.scheme.table);
  result.sources.push_back({fmt::format(FMT_COMPILE("{}/input/0"), prefix), facts.scheme.from});
}

}  // namespace

TextStack read_text_stack(ConfigScope& scope, std::string_view prefix) {
  TextStack result{.stack = {.name = "decoder", .input = {}, .layers = {}}, .sources = {}, .trained_length = {}};
  const Sourced<std::int64_t> layers = read_layer_count(scope);
  LayerPattern pattern = read_layer_pattern(scope, layers.value);
  std::vector<AttentionShape> shapes = read_layer_sizes(scope, pattern);
  std::optional<Indexer> indexer = read_indexer(scope, pattern);
  Sourced<std::int64_t> trained_length = read_trained_length(scope);
  SchemeChoice scheme = read_scheme(scope, shapes.front().heads.value, trained_length.value);
  if (!scheme.rotates) let_rest(pattern, scheme.from);
  LayerScores scores = read_layer_scores(scope, shapes);
  LayerMasks masks = read_layer_masks(scope, pattern, trained_length);
  StackFacts facts{.shapes = std::move(shapes),
                   .pattern = std::move(pattern),
                   .scores = std::move(scores),
                   .masks = std::move(masks),
                   .indexer = std::move(indexer),
                   .selection = read_selection(scope),
                   .trained_length = std::move(trained_length),
                   .scheme = std::move(scheme),
                   .query_scale = {}};
  result.known = has_known_layout(scope, facts.shapes.front()) && is_decided(scope) && facts.scheme.known;
  RopeDicts dicts(scope);
  facts.query_scale = read_query_scale(dicts, facts.trained_length);
  if (scope.reader().failed()) return result;
  add_input(facts, prefix, result);
  result.sources.push_back({"/trained_length", facts.trained_length.from});
  result.sources.push_back({fmt::format(FMT_COMPILE("{}/layers"), prefix), layers.from});
  fill_layers(scope, dicts, facts, prefix, result);
  dicts.warn_unknown();
  if (dicts.has_unknown_axes()) result.known = false;
  warn_misleading(scope);
  result.trained_length = facts.trained_length;
  return result;
}

}  // namespace posenc::plan
