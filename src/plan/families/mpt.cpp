// MPT and DBRX, of MosaicML and Databricks. One row a family. Facts: the transformers 5.23.0 class named by the stem;
// but attn_config is read as the published codes read it (mosaicml/llm-foundry llmfoundry/models/mpt and
// models/layers/attention.py; dbrx's modeling_dbrx.py beside its weights), where the class drops a key, with a warning.
#include "base/formatted.h"
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/layers/layers.h"
#include "plan/rope/scheme_choice.h"

namespace posenc::plan {
namespace {

constexpr OwnKey kMptKeys[] = {{&keys::kHeadDim}};
constexpr InputRule kTableIfSaid{.kind = InputKind::learned, .present_if = &keys::kLearnedInput};
constexpr MaskRule kPrefixIfSaid{.prefix_if = &keys::kPrefix};
constexpr ScoreRule kAlibiTerm{.kind = ScoreKind::alibi};
constexpr StackRule kMptStack{.mask = kPrefixIfSaid, .input = kTableIfSaid, .score = kAlibiTerm, .own_keys = kMptKeys};

void warn_of_lost(ConfigScope& scope, const Key& key, std::string_view what) {
  const auto place = scope.peek(key);
  if (!place || !place->in_file) return;
  scope.reader().warn("lost-by-class",
                      formatted("{} is what the published code reads; transformers' class drops it, and {}.", place->from,
                                what),
                      {place->from});
}

// llm-foundry's gen_rotary_embedding: both codes pair halves of the whole head; what else they can do is not read.
void require_plain_rope(ConfigScope& scope) {
  const auto code = scope.find(keys::kRopeCode);
  const std::string name = code ? std::string(scope.reader().string(*code).value_or("dail")) : "dail";
  if (name != "dail" && name != "hf") {
    scope.reader().fail(*code, ErrorKind::out_of_range, "\"dail\" or \"hf\"");
    return;
  }
  const auto dictionary = scope.find(name == "hf" ? keys::kHfRules : keys::kDailRope);
  const auto type = dictionary && dictionary->value.kind() == io::JsonKind::object
                        ? scope.reader().look(dictionary->value, "type")
                        : std::nullopt;
  if (!type) return;
  const auto variant = scope.reader().string(*type);
  if (variant == (name == "hf" ? "no_scaling" : "original")) return;
  scope.reader().undecided(
      formatted("{} is {}: how that variant rotates is not read.", type->from, variant.value_or("")), {type->from});
}

// Where the model rotates, its code drops the learned table, and has ALiBi too only if the file says so: the default,
// true, is that of the class in transformers, which does not know `rope`.
SchemeChoice mpt_scheme(ConfigScope& scope, const SchemeFacts&) {
  const Setting<bool> rotates = scope.flag(keys::kRopeFlag);
  const auto alibi_place = scope.peek(keys::kAlibi);
  const Setting<bool> biased = scope.flag(keys::kAlibi);
  if (rotates.value.value_or(false)) {
    const bool both = alibi_place && alibi_place->in_file && biased.value.value_or(false);
    require_plain_rope(scope);
    warn_of_lost(scope, keys::kRopeFlag, "rotates nothing");
    return {.rotates = true, .input = false, .score = both, .from = rotates.from};
  }
  const bool on = biased.value.value_or(false);
  return {.input = !on, .score = on, .from = biased.from};
}

SchemeChoice dbrx_scheme(ConfigScope& scope, const SchemeFacts&) {
  const auto base = scope.peek(keys::kBase);
  if (base && base->from.starts_with("/attn_config/")) {
    warn_of_lost(scope, keys::kBase, "rotates with base 10000 unless rope_parameters says another");
  }
  return choose_rotation(family_default(scope.family()));
}

// softmax_scale, else 1 / sqrt(head_dim).
std::optional<Sourced<double>> mpt_scale(ConfigScope& scope, const AttentionShape&) {
  if (!scope.peek(keys::kSoftmaxScale)) return {};
  return scope.required_positive(keys::kSoftmaxScale);
}

}  // namespace

std::span<const Family> mpt_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "mpt", .class_stems = "Mpt MPT", .pairing = Pairing::half,
     .own_names = "d_model n_heads n_layers max_seq_len", .nested = "attn_config", .main = kMptStack,
     .kv_heads = KvHeads::by_attention_kind, .scales = false,
     .qk_norm = QkNormRule{.norm = kLayerNormAcrossHeads, .switch_key = "qk_ln"}, .scheme = mpt_scheme,
     .softmax_scale = mpt_scale, .misleading_keys = "learned_pos_emb",
     .undecided_keys = "block_overrides sliding_window_size attn_logit_softcapping"},
    {.name = "dbrx", .class_stems = "Dbrx", .pairing = kHalf, .nested = "attn_config", .scheme = dbrx_scheme,
     .misleading_keys = "partial_rotary_factor"},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
