// OLMo. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   hf_olmo: olmo/model.py and olmo/config.py of allenai/OLMo.
#include <bit>

#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/rope/scheme_choice.h"

namespace posenc::plan {
namespace {

// A rotation, unless rope_parameters says that there is no base: "rope_theta": null.
SchemeChoice olmo_hybrid_scheme(ConfigScope& scope, const SchemeFacts&) {
  const auto dictionary = scope.reader().look(scope.object(), keys::kRopeParameters.name());
  if (!dictionary || dictionary->value.kind() != io::JsonKind::object)
    return choose_rotation(family_default(scope.family()));
  const auto base = scope.reader().look(dictionary->value, keys::kBase.name());
  if (!base || !base->value.is_null()) return choose_rotation(family_default(scope.family()));
  scope.reader().enter(dictionary->value);
  scope.reader().mark_read(*base);
  return {.from = base->from};
}

// olmo/model.py: blocks rotate where rope is true, alibi adds its bias, and with neither the model has a table wpe.
SchemeChoice olmo_scheme(ConfigScope& scope, const SchemeFacts& facts) {
  const Setting<bool> rope = scope.flag(keys::kRopeFlag);
  const Setting<bool> biased = scope.flag(keys::kAlibi);
  if (rope.value.value_or(false)) return choose_rotation(rope.from);
  if (biased.value.value_or(false)) {
    SchemeChoice choice = choose_alibi(scope, facts.heads, biased.from);
    // alibi_attention_bias: one ladder whatever the number of heads, which for a power of two is the paper's.
    choice.alibi->geometric_slopes = !std::has_single_bit(static_cast<std::uint64_t>(facts.heads));
    return choice;
  }
  return choose_table(facts.trained_length, rope.from);
}

}  // namespace

std::span<const Family> olmo_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "olmo", .class_stems = "Olmo", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "olmo2", .class_stems = "Olmo2", .pairing = kHalf, .qk_norm = QkNormRule{kRmsAcrossHeads},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "olmo3", .class_stems = "Olmo3", .pairing = kHalf, .ropes_per_type = true, .flat_base_is_full = true,
     .windows = Windows::patterned, .default_pattern = 4, .qk_norm = QkNormRule{kRmsAcrossHeads}, .misleading_keys = "partial_rotary_factor"},
    {.name = "olmoe", .class_stems = "Olmoe", .pairing = kHalf, .qk_norm = QkNormRule{kRmsAcrossHeads},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "olmo_hybrid", .class_stems = "OlmoHybrid", .pairing = kHalf, .kinds = Kinds::listed, .default_pattern = 4,
     .qk_norm = QkNormRule{kRmsAcrossHeads}, .scheme = olmo_hybrid_scheme, .misleading_keys = "partial_rotary_factor"},
    {.name = "flex_olmo", .class_stems = "FlexOlmo", .pairing = kHalf, .qk_norm = QkNormRule{kRmsAcrossHeads},
     .misleading_keys = "partial_rotary_factor"},
    // After olmo: a file without a model_type whose class is OLMoForCausalLM is read as olmo.
    // The kind of its attention_layer_norm depends on layer_norm_type.
    {.name = "hf_olmo", .class_stems = "OLMo", .pairing = kHalf,
     .own_names = "d_model n_heads n_layers n_kv_heads max_sequence_length", .kv_heads = KvHeads::given_or_one,
     .scales = false, .scheme = olmo_scheme, .misleading_keys = kQwenMisleads,
     .undecided_keys = "attention_layer_norm"},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
