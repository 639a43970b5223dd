// OLMo. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   hf_olmo: olmo/model.py and olmo/config.py of allenai/OLMo.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {

std::span<const Family> olmo_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "olmo", .class_stems = "Olmo", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "olmo2", .class_stems = "Olmo2", .pairing = kHalf, .qk_norm = QkNormRule{kRmsAcrossHeads},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "olmo3", .class_stems = "Olmo3", .pairing = kHalf, .ropes_per_type = true, .windows = Windows::patterned,
     .default_pattern = 4, .qk_norm = QkNormRule{kRmsAcrossHeads}, .misleading_keys = "partial_rotary_factor"},
    {.name = "olmoe", .class_stems = "Olmoe", .pairing = kHalf, .qk_norm = QkNormRule{kRmsAcrossHeads},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "olmo_hybrid", .class_stems = "OlmoHybrid", .pairing = kHalf, .kinds = Kinds::listed,
     .scheme = Scheme::rotation_by_base, .default_pattern = 4, .qk_norm = QkNormRule{kRmsAcrossHeads},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "flex_olmo", .class_stems = "FlexOlmo", .pairing = kHalf, .qk_norm = QkNormRule{kRmsAcrossHeads},
     .misleading_keys = "partial_rotary_factor"},
    // After olmo: a file without a model_type whose class is OLMoForCausalLM is read as olmo.
    // The kind of its attention_layer_norm depends on layer_norm_type.
    {.name = "hf_olmo", .class_stems = "OLMo", .pairing = kHalf,
     .own_names = "d_model n_heads n_layers n_kv_heads max_sequence_length", .kv_heads = KvHeads::given_or_one,
     .scales = false, .scheme = Scheme::by_flags, .misleading_keys = kQwenMisleads,
     .undecided_keys = "attention_layer_norm"},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
