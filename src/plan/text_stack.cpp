#include "plan/text_stack.h"

#include <fmt/compile.h>

#include <algorithm>
#include <string>
#include <utility>

#include "plan/attention_shape.h"
#include "plan/block_sparse.h"
#include "plan/cross_attention.h"
#include "plan/indexer.h"
#include "plan/input_stage.h"
#include "plan/layer_kinds.h"
#include "plan/layer_masks.h"
#include "plan/layer_pattern.h"
#include "plan/layer_scores.h"
#include "plan/layer_sizes.h"
#include "plan/layer_sources.h"
#include "plan/logit_scale.h"
#include "plan/query_scale.h"
#include "plan/rope_draft.h"
#include "plan/scheme_choice.h"
#include "plan/score_terms.h"
#include "plan/sparse_masks.h"

namespace posenc::plan {
namespace {

// ---- one kind of layer ----

struct StackFacts {
  std::vector<AttentionShape> shapes;
  LayerPattern pattern;
  LayerScores scores;
  LayerMasks masks;
  ScoreTerms terms;
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

void add_decay(ConfigScope& scope, Rotate& rotate, std::vector<FieldSource>& sources) {
  if (!scope.family().decays || !scope.peek(keys::kScaleBase)) return;
  const Sourced<double> base = scope.required_positive(keys::kScaleBase);
  rotate.scheme = XPos{.rope = std::get<Rope>(std::move(rotate.scheme)), .scale_base = base.value};
  sources.push_back({"rotate/0/scale_base", base.from});
}

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
  Rotate rotate{.heads = shape.heads.value, .scheme = std::move(*draft.rope)};
  if (dicts.scope().stack().types.rotary) rotate.role = RotateRole::before_projection;
  add_decay(dicts.scope(), rotate, layer.sources);
  layer.plan.rotate.push_back(std::move(rotate));
  add_sources("rotate/0", std::move(draft.sources), layer);
  if (!chooser.rotate) return;
  layer.plan.rotate.push_back(std::move(*chooser.rotate));
  add_sources("rotate/1", std::move(chooser.sources), layer);
}

void add_score_terms(const StackFacts& facts, LayerKindPlan& layer) {
  layer.plan.score = facts.terms.terms;
  layer.sources.insert(layer.sources.end(), facts.terms.sources.begin(), facts.terms.sources.end());
  if (facts.scheme.relative) layer.sources.push_back({"score", facts.scheme.from});
  if (!facts.scheme.alibi) return;
  layer.plan.score.push_back(*facts.scheme.alibi);
  layer.sources.push_back({"score/0", facts.scheme.from});
}

// Reformer's two kinds of layers have a whole mask of their own.
void add_chunk_mask(const StackFacts& facts, const Sourced<Mask>& mask, LayerKindPlan& layer) {
  layer.plan.mask = mask.value;
  layer.sources.push_back({"mask/kind", facts.pattern.types_from});
  layer.sources.push_back({"mask/detail", mask.from});
}

void add_mask(ConfigScope& scope, const StackFacts& facts, LayerKindPlan& layer) {
  if (layer.traits.type == LayerType::nearby_chunks) return add_chunk_mask(facts, facts.masks.nearby, layer);
  if (layer.traits.type == LayerType::hashed_chunks) return add_chunk_mask(facts, facts.masks.hashed, layer);
  Mask& mask = layer.plan.mask;
  mask.kind = facts.masks.kind.value;
  mask.detail = facts.masks.detail;
  layer.sources.push_back({"mask/kind", facts.masks.kind.from});
  const bool slides = layer.traits.type == LayerType::sliding;
  if (slides) mask.window = window_of(facts.masks, layer.traits.width);
  if (slides && !facts.masks.sliding_detail.value.empty()) mask.detail = facts.masks.sliding_detail.value;
  layer.sources.push_back({"mask/window", slides ? facts.masks.window_from : facts.pattern.types_from});
  const bool chunked = layer.traits.type == LayerType::chunked;
  if (chunked) mask.chunk = facts.pattern.chunk.value;
  if (chunked) layer.sources.push_back({"mask/chunk", facts.pattern.chunk.from});
  const bool of_window = slides && !facts.masks.sliding_detail.value.empty();
  if (!mask.detail.empty()) {
    layer.sources.push_back({"mask/detail", of_window ? facts.masks.sliding_detail.from : facts.masks.kind.from});
  }
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

bool has_norm(const Family& family, const LayerTraits& traits) {
  if (!family.qk_norm) return true;
  if (family.qk_norm->turning_layers_only) return traits.turns;
  if (family.qk_norm->cross_layers_only) return traits.kind == LayerKind::cross_attention;
  return !family.qk_norm->hashed_layers_only || traits.type == LayerType::hashed_chunks;
}

const std::string& no_norm_from(const Family& family, const LayerPattern& pattern) {
  if (family.qk_norm->cross_layers_only) return pattern.kinds_from;
  return family.qk_norm->hashed_layers_only ? pattern.types_from : pattern.turning_from;
}

void add_scores(ConfigScope& scope, const StackFacts& facts, LayerKindPlan& layer) {
  const LayerScores& scores = facts.scores;
  LayerPlan& plan = layer.plan;
  if (std::ranges::find(layer.sources, "logit_scale", &FieldSource::field) == layer.sources.end()) {
    layer.sources.push_back({"logit_scale", scores.scales[static_cast<std::size_t>(layer.traits.shape)].from});
  }
  if (scores.soft_cap.value) plan.soft_cap = SoftCap{.cap = *scores.soft_cap.value};
  plan.sinks = scope.family().sinks;
  const bool norm = has_norm(scope.family(), layer.traits);
  if (norm) plan.qk_norm = scores.qk_norm;
  layer.sources.push_back({"soft_cap", scores.soft_cap.from});
  layer.sources.push_back({"sinks", family_default(scope.family())});
  layer.sources.push_back({"qk_norm", norm ? scores.qk_norm_from : no_norm_from(scope.family(), facts.pattern)});
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
  layer.plan.logit_scale =
      facts.scores.scales[static_cast<std::size_t>(traits.shape)].value / static_cast<double>(traits.scale_divisor);
  layer.sources.insert(layer.sources.end(), {{"heads", shape.heads.from},
                                             {"kv_heads", shape.kv_heads.from},
                                             {"head_dim", shape.head_dim.from},
                                             {"value_dim", shape.value_dim.from}});
  add_rotation(dicts, facts, layer);
  add_score_terms(facts, layer);
  add_scores(scope, facts, layer);
  add_mask(scope, facts, layer);
  add_keys_and_values(scope, facts, layer);
  return layer;
}

// The second attention of a block, which sees all of another stack's output: the first one's heads and scale, no
// rotation, no score term.
LayerKindPlan cross_plan(const LayerKindPlan& self, const std::string& from) {
  LayerKindPlan cross{.traits = self.traits, .plan = {}, .sources = {{"kind", from}}};
  cross.plan.kind = LayerKind::cross_attention;
  cross.plan.heads = self.plan.heads;
  cross.plan.kv_heads = self.plan.kv_heads;
  cross.plan.head_dim = self.plan.head_dim;
  cross.plan.value_dim = self.plan.value_dim;
  cross.plan.logit_scale = self.plan.logit_scale;
  cross.plan.mask.kind = MaskKind::bidirectional;
  for (const FieldSource& source : self.sources) {
    constexpr std::string_view kShared[] = {"heads", "kv_heads", "head_dim", "value_dim", "logit_scale"};
    if (std::ranges::find(kShared, source.field) != std::ranges::end(kShared)) cross.sources.push_back(source);
  }
  return cross;
}

void add_layer(const LayerKindPlan& layer, std::int64_t block, std::vector<LayerPlan>& layers, LayerSources& sources) {
  sources.add(static_cast<std::int64_t>(layers.size()), layer.sources);
  layers.push_back(layer.plan);
  layers.back().index = block;
}

// So many plans are remembered at a time, each with a text for every field: all kinds of a real model, and no more than
// 200 kB where a hostile file makes each layer another kind.
constexpr std::size_t kMaxKinds = 32;

// Equal layers are planned once and copied.
void fill_layers(ConfigScope& scope, RopeDicts& dicts, const StackFacts& facts, std::string_view prefix,
                 TextStack& result) {
  std::vector<LayerKindPlan> kinds;
  LayerSources sources;
  const Sourced<bool> crosses = read_cross_attention(scope);
  result.stack.layers.reserve(facts.pattern.layers.size() * (crosses.value ? 2 : 1));
  for (std::size_t block = 0; block < facts.pattern.layers.size(); ++block) {
    const LayerTraits& traits = facts.pattern.layers[block];
    auto kind = std::ranges::find(kinds, traits, &LayerKindPlan::traits);
    if (kind == kinds.end()) {
      if (kinds.size() == kMaxKinds) kinds.clear();
      kind = kinds.insert(kinds.end(), plan_of(scope, dicts, facts, traits));
    }
    if (scope.reader().failed()) return;
    add_layer(*kind, static_cast<std::int64_t>(block), result.stack.layers, sources);
    if (crosses.value) {
      add_layer(cross_plan(*kind, crosses.from), static_cast<std::int64_t>(block), result.stack.layers, sources);
    }
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
    if (!place || scope.reader().was_read(place->value) || says_nothing(scope.reader(), *place)) continue;
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
  for (std::string_view what : {scope.family().undecided, scope.stack().undecided}) {
    if (what.empty()) continue;
    scope.reader().warn("undecided",
                        fmt::format(FMT_COMPILE("No source says of {} models: {}."), scope.family().name, what), {});
    decided = false;
  }
  return decided;
}

Sourced<std::int64_t> read_trained_length(ConfigScope& scope) {
  constexpr Bounds kLengths{1, kMaxPosition};
  if (scope.family().needs_length) return scope.required_integer(keys::kLength, kLengths);
  Setting<std::int64_t> length = scope.integer(keys::kLength, kLengths);
  return {length.value.value_or(0), length.value ? std::move(length.from) : "default: not given"};
}

// The logit scale of layer i falls with i (GPT-2).
void divide_scales(ConfigScope& scope, LayerPattern& pattern) {
  if (!read_division_by_layer(scope).value) return;
  std::int64_t count = 0;
  for (LayerTraits& layer : pattern.layers) layer.scale_divisor = ++count;
}

void add_input(const StackFacts& facts, InputStage input, std::string_view prefix, TextStack& result) {
  result.stack.input = std::move(input.schemes);
  for (FieldSource& source : input.sources) {
    result.sources.push_back({fmt::format(FMT_COMPILE("{}/{}"), prefix, source.field), std::move(source.from)});
  }
  if (!facts.scheme.table) return;
  result.stack.input.push_back(*facts.scheme.table);
  result.sources.push_back({fmt::format(FMT_COMPILE("{}/input/0"), prefix), facts.scheme.from});
}

}  // namespace

TextStack read_text_stack(ConfigScope& scope, std::string_view prefix) {
  TextStack result{.stack = {.name = {}, .input = {}, .layers = {}}, .sources = {}, .trained_length = {}};
  const Sourced<std::int64_t> layers = read_layer_count(scope);
  StackFacts facts;
  facts.pattern = read_layer_pattern(scope, layers.value);
  read_block_sparse(scope, facts.pattern);
  facts.shapes = read_layer_sizes(scope, facts.pattern);
  facts.indexer = read_indexer(scope, facts.pattern);
  facts.selection = read_selection(scope);
  const Sourced<std::int64_t>& heads = facts.shapes.front().heads;
  facts.trained_length = read_trained_length(scope);
  facts.scheme = read_scheme(scope, heads.value, facts.trained_length.value);
  if (!facts.scheme.rotates) let_rest(facts.pattern, facts.scheme.from);
  divide_scales(scope, facts.pattern);
  InputStage input{{}, {}, facts.trained_length};
  if (facts.scheme.input) input = read_input_stage(scope, facts.trained_length);
  facts.trained_length = input.length;
  facts.masks = read_layer_masks(scope, facts.pattern, facts.trained_length);
  if (facts.scheme.score) {
    const ScoreKind kind = facts.scheme.relative.value_or(scope.stack().score.kind);
    facts.terms = read_score_terms(scope, kind, heads, facts.masks.kind, facts.trained_length);
  }
  facts.scores = read_layer_scores(scope, facts.shapes, facts.terms.parts);
  const bool layout_known = has_known_layout(scope, facts.shapes.front());
  const bool decided = is_decided(scope);  // each names what it lacks
  result.known = layout_known && decided && facts.scheme.known;
  RopeDicts dicts(scope);
  facts.query_scale = read_query_scale(dicts, facts.trained_length);
  if (scope.reader().failed()) return result;

  result.stack.name = facts.masks.turned_causal ? "decoder" : scope.stack().name;
  add_input(facts, std::move(input), prefix, result);
  result.sources.push_back({fmt::format(FMT_COMPILE("{}/layers"), prefix), layers.from});
  fill_layers(scope, dicts, facts, prefix, result);
  dicts.warn_unknown();
  if (dicts.has_unknown_axes()) result.known = false;
  warn_misleading(scope);
  result.trained_length = facts.trained_length;
  return result;
}

}  // namespace posenc::plan
