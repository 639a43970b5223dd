// The facts of one layer from those of its stack: sizes, rotations, scores, mask, whose KV cache; and cross attention.
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/formatted.h"
#include "plan/layers/layers.h"

namespace posenc::plan {
namespace {

// ---- rotation ----

void add_main_rotation(ConfigScope& scope, std::int64_t heads, const RopeDraft& draft, LayerFacts& layer) {
  Rotate rotate{.heads = scope.family().first_head_rotates ? 1 : heads, .scheme = *draft.rope};
  if (scope.stack().types.rotary) rotate.role = RotateRole::before_projection;
  std::vector<FieldSource> sources;
  if (scope.family().decays && scope.peek(keys::kScaleBase)) {
    const Sourced<double> base = scope.required_positive(keys::kScaleBase);
    rotate.scheme = XPos{.rope = *draft.rope, .scale_base = base.value};
    sources.push_back({"scale_base", base.from});
  }
  sources.insert(sources.end(), draft.sources.begin(), draft.sources.end());
  layer.add(std::move(rotate), sources);
}

void add_rotation(ConfigScope& scope, const TextFacts& stack, const LayerTraits& traits, const RopeDraft& draft,
                  LayerFacts& layer) {
  if (!traits.rotates) {
    const bool by_kind = traits.kind != LayerKind::attention;
    return layer.say("rotate", by_kind ? stack.pattern.kinds_from : stack.pattern.rotary_from);
  }
  if (!draft.rope) return layer.say("rotate", draft.still_from);
  IndexerRotation chooser;
  if (stack.indexer && traits.choice == Choice::own) {
    chooser = indexer_rotation(scope, *stack.indexer, *draft.rope, draft.sources);
  }
  add_main_rotation(scope, layer.layer().heads, draft, layer);
  if (!stack.regions.from.empty()) layer.set(facts::kRegions, stack.regions.regions, stack.regions.from);
  if (chooser.rotate) layer.add(std::move(*chooser.rotate), chooser.sources);
}

// ---- scores ----

void add_score_terms(const TextFacts& stack, const LayerTraits& traits, LayerFacts& layer) {
  const ScoreTerms& all = stack.terms;
  const bool has_own = traits.type == LayerType::sliding && !all.sliding.empty();
  for (const ScoreTerm& term : has_own ? all.sliding : all.terms) layer.add(term);
  layer.say(has_own ? all.sliding_sources : all.sources);
  if (stack.scheme.relative) layer.say("score", stack.scheme.from);
  if (!stack.scheme.alibi) return;
  layer.add(*stack.scheme.alibi);
  layer.say("score/0", stack.scheme.from);
}

// The norm of q and k, or why a layer of the stack has none.
void add_norm(const Family& family, const TextFacts& stack, const LayerTraits& traits, LayerFacts& layer) {
  const auto& rule = family.qk_norm;
  if (rule && rule->rotary_layers_only && !traits.rotates) {
    layer.set(facts::kQkNorm, {}, stack.pattern.rotary_from);
  } else if (rule && rule->cross_layers_only && traits.kind != LayerKind::cross_attention) {
    layer.set(facts::kQkNorm, {}, stack.pattern.kinds_from);
  } else if (rule && rule->hashed_layers_only && traits.type != LayerType::hashed_chunks) {
    layer.set(facts::kQkNorm, {}, stack.pattern.types_from);
  } else {
    layer.set(facts::kQkNorm, stack.scores.qk_norm, stack.scores.qk_norm_from);
  }
}

void add_scores(const Family& family, const TextFacts& stack, const LayerTraits& traits, LayerFacts& layer) {
  const Setting<double>& cap = stack.scores.soft_cap;
  layer.set(facts::kSoftCap, cap.value ? std::optional(SoftCap{.cap = *cap.value}) : std::nullopt, cap.from);
  const bool has_sinks = family.sinks && (!family.sinks_in_windows || traits.type == LayerType::sliding);
  layer.set(facts::kSinks, has_sinks, family.sinks_in_windows ? stack.pattern.types_from : family_default(family));
  add_norm(family, stack, traits, layer);
  const QueryScaling scaling = family.query_scaling;
  if (scaling == QueryScaling::none || (scaling == QueryScaling::nope_layers && traits.rotates)) return;
  if (scaling == QueryScaling::beam && !layer.layer().rotate.empty()) return;
  if (scaling == QueryScaling::full_layers && traits.type == LayerType::sliding) return;
  layer.set(facts::kQueryScale, stack.query_scale);
}

// ---- masks, keys and values ----

// Reformer's two kinds of layers have a whole mask of their own.
void set_chunk_mask(const TextFacts& stack, const Sourced<Mask>& mask, LayerFacts& layer) {
  layer.set(mask.value, {{"mask/kind", stack.pattern.types_from}, {"mask/detail", mask.from}});
}

void add_mask(ConfigScope& scope, const TextFacts& stack, const LayerTraits& traits, LayerFacts& layer) {
  const LayerMasks& masks = stack.masks;
  if (traits.type == LayerType::nearby_chunks) return set_chunk_mask(stack, masks.nearby, layer);
  if (traits.type == LayerType::hashed_chunks) return set_chunk_mask(stack, masks.hashed, layer);
  // A chunk's tokens see one another by their order, whatever is_causal says of the others.
  const bool in_order = traits.type == LayerType::chunked && scope.stack().mask.kind == MaskKind::causal;
  layer.set(facts::kMaskKind,
            in_order ? Sourced<MaskKind>{MaskKind::causal, family_default(scope.family())} : masks.kind);
  const bool slides = traits.type == LayerType::sliding;
  if (slides) {
    layer.set(facts::kWindow, window_of(masks, traits), masks.window_from);
  } else {
    layer.set(facts::kWindow, {}, stack.pattern.types_from);
  }
  if (traits.type == LayerType::chunked && !scope.family().chunk_before_own)
    layer.set(facts::kChunk, stack.pattern.chunk);
  if (traits.blocks_before > 0 || traits.blocks_after > 0) {
    Mask mask{.kind = MaskKind::sparse};
    mask.detail = chunks_seen("", masks.block.value.value_or(0), traits.blocks_before, traits.blocks_after);
    set_sees(Sees::by_blocks, mask);
    layer.set(std::move(mask), {{"mask/kind", masks.blocks_from}, {"mask/detail", masks.block.from}});
    return;
  }
  if (masks.block.value) layer.set(facts::kChunk, masks.block);
  if (const MaskWords& words = masks.sliding_detail.value; slides && !words.text.empty()) {
    layer.set_words(std::string(words.text), words.sees, masks.sliding_detail.from);
  } else if (!masks.detail.empty()) {
    layer.set_words(masks.detail, masks.sees, masks.kind.from);
  }
  refine_mask(scope, stack.pattern, stack.selection, traits, layer);
}

template <typename Number>
std::optional<Number> unless_none(Number number, Number none) {
  return number == none ? std::nullopt : std::optional(number);
}

// Keys and values that are another layer's, made of several tokens, or rotated.
void add_keys_and_values(const Family& family, const StackRule& rule, const TextFacts& stack, const LayerTraits& traits,
                         LayerFacts& layer) {
  const std::int64_t none = -1;
  if (family.shares_kv) layer.set(facts::kKvFrom, unless_none(traits.kv_from, none), stack.pattern.kv_from);
  if (family.compressed_keys) {
    layer.set(facts::kCompression, unless_none<std::int64_t>(traits.compression, 0), stack.pattern.compression_from);
  }
  if (rule.mixing != Mixing{}) layer.set(facts::kMixing, rule.mixing, family_default(family));
  if (family.rotates_values && !layer.layer().rotate.empty()) {
    layer.set(facts::kValue, RotatedValues{.inverse_on_output = !family.leaves_values_rotated}, family_default(family));
  }
}

// Of families whose scores are not scaled by a head's width (Dia).
void set_cross_sizes(ConfigScope& scope, LayerFacts& cross) {
  const Sourced<std::int64_t> heads = scope.required_integer(keys::kCrossHeads, {1, kMaxHeads});
  const Sourced<std::int64_t> kv_heads = scope.required_integer(keys::kCrossKvHeads, {1, kMaxHeads});
  const Sourced<std::int64_t> head_dim = scope.required_integer(keys::kCrossHeadDim, {1, kMaxHeadDim});
  if (!scope.reader().failed() && heads.value % kv_heads.value != 0) {
    scope.fail(keys::kCrossKvHeads, ErrorKind::not_divisible, formatted("a divisor of the {} heads", heads.value));
  }
  cross.set(facts::kHeads, heads);
  cross.set(facts::kKvHeads, kv_heads);
  cross.set(facts::kHeadDim, head_dim);
  cross.set(facts::kValueDim, head_dim);
}

}  // namespace

LayerFacts read_text_layer(ConfigScope& scope, RopeDicts& dicts, const TextFacts& stack, const LayerTraits& traits) {
  const Family& family = scope.family();
  LayerFacts layer(traits.kind);
  if (family.kinds != Kinds::attention) layer.say("kind", stack.pattern.kinds_from);
  if (!attends(traits.kind)) {
    if (scope.stack().begins_apart) layer.set(facts::kBeginsApart, true, family_default(family));
    return layer;
  }
  const auto index = static_cast<std::size_t>(traits.shape);
  const AttentionShape& shape = stack.shapes[index];
  layer.set(facts::kHeads, shape.heads);
  layer.set(facts::kKvHeads, shape.kv_heads);
  layer.set(facts::kHeadDim, shape.head_dim);
  layer.set(facts::kValueDim, shape.value_dim);
  RopeDraft draft;
  if (const auto none = traits.rotates ? dicts.null_of(traits) : std::nullopt) {
    draft.still_from = none->from;
  } else if (traits.rotates) {
    draft =
        read_rope(dicts, traits, shape, stack.trained_length, static_cast<std::int64_t>(stack.pattern.layers.size()));
  }
  Sourced<double> scale = stack.scores.scales[index];
  scale.value /= static_cast<double>(traits.scale_divisor);
  // Of latent attention YaRN scales the scores too.
  const double multiplier = shape.latent && draft.rope ? softmax_multiplier(draft.rope->scaling) : 1.0;
  if (multiplier != 1) {
    layer.set(facts::kSoftmaxScale, scale.value * multiplier, "default: g(factor, mscale_all_dim)^2 / sqrt(head_dim)");
  }
  add_rotation(scope, stack, traits, draft, layer);
  add_score_terms(stack, traits, layer);
  if (multiplier == 1) layer.set(facts::kSoftmaxScale, scale);
  if (family.channel_scale) layer.scale_channels();
  add_scores(family, stack, traits, layer);
  add_mask(scope, stack, traits, layer);
  add_keys_and_values(family, scope.stack(), stack, traits, layer);
  return layer;
}

LayerFacts cross_attention_beside(ConfigScope& scope, LayerFacts& self, const std::string& from) {
  LayerFacts cross(LayerKind::cross_attention);
  cross.say("kind", from);
  if (scope.stack().cross_sizes) {
    set_cross_sizes(scope, cross);
  } else {
    cross.copy(facts::kHeads, self);
    cross.copy(facts::kKvHeads, self);
    cross.copy(facts::kHeadDim, self);
    cross.copy(facts::kValueDim, self);
  }
  if (scope.stack().cross_by_heads) {
    const std::int64_t heads = self.layer().heads;
    cross.set(facts::kKvHeads, heads, from);
    cross.set(facts::kSoftmaxScale, 1 / std::sqrt(static_cast<double>(heads)), family_default(scope.family()));
  } else {
    cross.copy(facts::kSoftmaxScale, self);
  }
  if (self.layer().soft_cap) cross.copy(facts::kSoftCap, self);
  cross.set(Mask{.kind = MaskKind::bidirectional, .window = {}, .chunk = {}, .detail = {}}, {});
  return cross;
}

}  // namespace posenc::plan
