#include "plan/layers/layer_plan.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <variant>

#include "base/formatted.h"
#include "plan/layers/layer_kinds.h"
#include "plan/rope/draft.h"

namespace posenc::plan {
namespace {

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
    layer.sources.push_back({formatted("{}/{}", prefix, source.field), std::move(source.from)});
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
    layer.plan.softmax_scale *= multiplier;
    if (multiplier != 1)
      layer.sources.push_back({"softmax_scale", "default: g(factor, mscale_all_dim)^2 / sqrt(head_dim)"});
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
  layer.plan.regions = facts.regions.regions;
  if (!facts.regions.from.empty()) layer.sources.push_back({"regions", facts.regions.from});
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
  if (std::ranges::find(layer.sources, "softmax_scale", &FieldSource::field) == layer.sources.end()) {
    layer.sources.push_back({"softmax_scale", scores.scales[static_cast<std::size_t>(layer.traits.shape)].from});
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

}  // namespace

LayerKindPlan plan_layer(ConfigScope& scope, RopeDicts& dicts, const StackFacts& facts, LayerTraits traits) {
  LayerKindPlan layer{.traits = traits, .plan = {}, .sources = {}};
  layer.plan.kind = traits.kind;
  if (scope.family().kinds != Kinds::attention) layer.sources.push_back({"kind", facts.pattern.kinds_from});
  if (!attends(traits.kind)) return layer;
  const AttentionShape& shape = shape_of(facts, traits);
  layer.plan.heads = shape.heads.value;
  layer.plan.kv_heads = shape.kv_heads.value;
  layer.plan.head_dim = shape.head_dim.value;
  layer.plan.value_dim = shape.value_dim.value;
  layer.plan.softmax_scale =
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

LayerKindPlan plan_cross_attention(const LayerKindPlan& self, const std::string& from) {
  LayerKindPlan cross{.traits = self.traits, .plan = {}, .sources = {{"kind", from}}};
  cross.plan.kind = LayerKind::cross_attention;
  cross.plan.heads = self.plan.heads;
  cross.plan.kv_heads = self.plan.kv_heads;
  cross.plan.head_dim = self.plan.head_dim;
  cross.plan.value_dim = self.plan.value_dim;
  cross.plan.softmax_scale = self.plan.softmax_scale;
  cross.plan.mask.kind = MaskKind::bidirectional;
  for (const FieldSource& source : self.sources) {
    constexpr std::string_view kShared[] = {"heads", "kv_heads", "head_dim", "value_dim", "softmax_scale"};
    if (std::ranges::find(kShared, source.field) != std::ranges::end(kShared)) cross.sources.push_back(source);
  }
  return cross;
}

}  // namespace posenc::plan
