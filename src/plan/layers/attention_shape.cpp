// Heads, KV heads, channels of a head, which of them may rotate, and their pairing, by the family's rules (GQA, MLA).
#include <cstdint>

#include "base/formatted.h"
#include "plan/layers/layers.h"

namespace posenc::plan {
namespace {

bool holds(const Setting<bool>& flag) { return flag.value.value_or(false); }

Sourced<std::int64_t> given_kv_heads(ConfigScope& scope, const Sourced<std::int64_t>& heads) {
  const Setting<std::int64_t> given = scope.integer(keys::kKvHeads, {1, kMaxHeads});
  if (!given.value) return {heads.value, given.from.empty() ? "default: as many as heads" : given.from};
  if (scope.reader().failed() || heads.value % *given.value == 0) return {*given.value, given.from};
  scope.fail(keys::kKvHeads, ErrorKind::not_divisible, formatted("a divisor of the {} heads", heads.value),
             formatted("{} / {} leaves {}", heads.value, *given.value, heads.value % *given.value));
  return {};
}

// llm-foundry's MultiheadAttention, MultiQueryAttention and GroupedQueryAttention; the first two do not read
// kv_n_heads.
Sourced<std::int64_t> kv_heads_by_kind(ConfigScope& scope, const Sourced<std::int64_t>& heads) {
  const auto kind = scope.find(keys::kAttentionKind);
  if (!kind) return given_kv_heads(scope, heads);
  const auto name = scope.reader().string(*kind);
  if (name == "multihead_attention") return {heads.value, kind->from};
  if (name == "multiquery_attention") return {1, kind->from};
  if (name == "grouped_query_attention") {
    scope.require(keys::kKvHeads);
    return given_kv_heads(scope, heads);
  }
  scope.reader().fail(*kind, ErrorKind::out_of_range,
                      "\"multihead_attention\", \"multiquery_attention\" or \"grouped_query_attention\"");
  return {};
}

// By Family::kv_heads; a divisor of `heads`, or an error.
Sourced<std::int64_t> read_kv_heads(ConfigScope& scope, const Sourced<std::int64_t>& heads) {
  switch (scope.family().kv_heads) {
    case KvHeads::given: break;
    case KvHeads::given_where_grouped: {
      const Setting<bool> grouped = scope.flag(keys::kGrouped);
      if (!holds(grouped)) return {heads.value, grouped.from};
      break;
    }
    case KvHeads::one_where_multi_query: {
      const Setting<bool> multi = scope.flag(keys::kMultiQuery);
      return {holds(multi) ? 1 : heads.value, multi.from};
    }
    case KvHeads::given_or_one: {
      const Setting<bool> multi = scope.flag(keys::kGrouped);
      if (holds(multi) && !scope.peek(keys::kKvHeads)) return {1, multi.from};
      break;
    }
    case KvHeads::by_attention_kind: return kv_heads_by_kind(scope, heads);
    case KvHeads::one: {
      const auto given = scope.peek(keys::kKvHeads);
      if (given && scope.reader().integer(*given, {1, kMaxHeads}) == 1) scope.reader().mark_read(*given);
      return {1, family_default(scope.family())};
    }
    case KvHeads::falcon: {
      const Setting<bool> own_count = scope.flag(keys::kNewDecoder);
      const Setting<bool> multi = scope.flag(keys::kMultiQuery);
      if (!holds(own_count) && holds(multi)) return {1, multi.from};
      break;
    }
  }
  return given_kv_heads(scope, heads);
}

constexpr Bounds kHeadDims{1, kMaxHeadDim};

Sourced<std::int64_t> hidden_over_heads(ConfigScope& scope, const Sourced<std::int64_t>& heads) {
  const Sourced<std::int64_t> hidden = scope.required_integer(keys::kHidden, {1, kMaxHiddenSize});
  if (scope.reader().failed()) return {};
  const std::int64_t width = hidden.value * (scope.family().double_width ? 2 : 1);
  if (width % heads.value != 0) {
    scope.fail(keys::kHidden, ErrorKind::not_divisible, formatted("a multiple of the {} heads", heads.value),
               formatted("no head_dim is given, and {} / {} leaves {}", width, heads.value, width % heads.value));
  } else if (width / heads.value > kMaxHeadDim) {
    scope.fail(keys::kHidden, ErrorKind::out_of_range, formatted("at most {} channels a head", kMaxHeadDim),
               formatted("{} / {} = {}", width, heads.value, width / heads.value));
  }
  return {width / heads.value, hidden.from};
}

// The last qk_rope_head_dim channels rotate, or that part of the head which partial_rotary_factor says.
AttentionShape with_last_channels(ConfigScope& scope, AttentionShape shape) {
  const auto factor = scope.peek(keys::kPartialFactor);
  const bool by_factor = factor && (factor->in_file || !scope.peek(keys::kRopeDim));
  if (by_factor) {
    const Sourced<double> part = scope.required_number(keys::kPartialFactor);
    if (part.value <= 0 || part.value > 1) {
      scope.reader().fail(*factor, ErrorKind::out_of_range, "a number above 0 and at most 1");
      return shape;
    }
    shape.rotary_width = {static_cast<std::int64_t>(static_cast<double>(shape.head_dim.value) * part.value), part.from};
    shape.width_place = factor;
  } else {
    shape.rotary_width = scope.required_integer(keys::kRopeDim, {1, shape.head_dim.value});
    shape.width_place = scope.peek(keys::kRopeDim);
  }
  shape.first_channel = {shape.head_dim.value - shape.rotary_width.value, shape.rotary_width.from};
  return shape;
}

AttentionShape plain_shape(ConfigScope& scope, AttentionShape shape) {
  shape.kv_heads = read_kv_heads(scope, shape.heads);
  const Setting<std::int64_t> head_dim = scope.size(keys::kHeadDim, kHeadDims);
  shape.head_dim =
      head_dim.value ? Sourced<std::int64_t>{*head_dim.value, head_dim.from} : hidden_over_heads(scope, shape.heads);
  shape.width_place = scope.peek(head_dim.value ? keys::kHeadDim : keys::kHidden);
  shape.value_dim = shape.head_dim;
  shape.first_channel = {0, family_default(scope.family())};
  shape.rotary_width = shape.head_dim;
  return scope.family().last_channels ? with_last_channels(scope, std::move(shape)) : shape;
}

AttentionShape latent_shape(ConfigScope& scope, AttentionShape shape) {
  const Sourced<std::int64_t> still = scope.required_integer(keys::kNopeDim, {0, kMaxHeadDim});
  shape.rotary_width = scope.required_integer(keys::kRopeDim, {0, kMaxHeadDim});
  shape.width_place = scope.peek(keys::kRopeDim);
  if (still.value + shape.rotary_width.value == 0) {
    scope.fail(keys::kRopeDim, ErrorKind::out_of_range, "a head with channels");
  }
  shape.latent = true;
  shape.kv_heads = {shape.heads.value, "default: latent attention, expanded"};
  shape.head_dim = {still.value + shape.rotary_width.value, "default: qk_nope_head_dim + qk_rope_head_dim"};
  const Setting<std::int64_t> value_dim = scope.integer(keys::kValueDim, kHeadDims);
  shape.value_dim =
      value_dim.value ? Sourced<std::int64_t>{*value_dim.value, value_dim.from} : hidden_over_heads(scope, shape.heads);
  shape.first_channel = still;
  return shape;
}

Sourced<Pairing> read_pairing(ConfigScope& scope) {
  const Family& family = scope.family();
  const Setting<bool> interleave = family.reads_interleave ? scope.flag(keys::kInterleave) : Setting<bool>{};
  if (interleave.value) return {*interleave.value ? Pairing::interleaved : Pairing::half, interleave.from};
  if (family.pairing_by_switch) {
    const Setting<bool> halves = scope.flag(keys::kHfRope);
    return {halves.value.value_or(false) ? Pairing::half : Pairing::interleaved, halves.from};
  }
  const auto type = family.pairing_by_type ? scope.find(keys::kPositionType) : std::nullopt;
  if (!type) return {family.pairing, family_default(family)};
  const auto name = scope.reader().string(*type);
  const bool neighbours = name == "mistral_yarn" || name == "rope_llama4";
  return {neighbours ? Pairing::interleaved : family.pairing, type->from};
}

AttentionShape read_class_shape(ConfigScope& scope) {
  AttentionShape shape;
  shape.heads = scope.required_size(keys::kHeads, {1, kMaxHeads});
  shape.pairing = read_pairing(scope);
  if (!scope.family().latent) return plain_shape(scope, std::move(shape));
  const Setting<bool> latent = scope.flag(keys::kUseMla);
  if (!latent.value || *latent.value) return latent_shape(scope, std::move(shape));
  // DeepSeek's models without latent attention are built like Llama.
  shape.pairing = {Pairing::half, latent.from};
  return plain_shape(scope, std::move(shape));
}

}  // namespace

AttentionShape read_attention_shape(ConfigScope& scope) {
  AttentionShape shape = read_class_shape(scope);
  const auto own_shape = scope.family().own_shape;
  return own_shape == nullptr || scope.reader().failed() ? shape : own_shape(scope, std::move(shape));
}

}  // namespace posenc::plan
