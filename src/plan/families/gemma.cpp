// Gemma, of Google. One row a family: pairing, pattern of local layers, what is read. Facts: the transformers 5.23.0
// class named by the stem. Bases and windows are the config's, or, where it leaves them out, those of
// class_defaults.cpp.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

constexpr OwnKey kRecurrentGemmaKeys[] = {{&keys::kWindow, "attention_window_size"}};
constexpr StackRule kRecurrentGemmaStack{.own_keys = kRecurrentGemmaKeys};

}  // namespace

std::span<const Family> gemma_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "gemma", .class_stems = "Gemma", .pairing = kHalf, .reads_bidirectional = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "gemma2", .class_stems = "Gemma2", .pairing = kHalf, .windows = Windows::patterned, .default_pattern = 2,
     .scale = Scale::query_scalar, .soft_cap = true,
     .misleading_keys = "partial_rotary_factor use_bidirectional_attention"},
    // Of each 6 layers 5 slide, the last is full, unless layer_types or sliding_window_pattern differ. Bases: sliding
    // rope_local_base_freq (10000), full rope_theta (1000000), which a flat rope_scaling is for (plan/rope/draft.cpp).
    {.name = "gemma3", .model_types = "gemma3 gemma3_text", .class_stems = "Gemma3 Gemma3Text", .pairing = kHalf,
     .ropes_per_type = true, .windows = Windows::patterned, .default_pattern = 6, .reads_bidirectional = true,
     .scale = Scale::query_scalar, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor attn_logit_softcapping"},
    {.name = "gemma3n", .model_types = "gemma3n gemma3n_text", .class_stems = "Gemma3n Gemma3nText", .pairing = kHalf,
     .ropes_per_type = true, .shares_kv = true, .windows = Windows::patterned, .default_pattern = 5,
     .scale = Scale::one, .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor"},
    {.name = "gemma4", .model_types = "gemma4 gemma4_text", .class_stems = "Gemma4 Gemma4Text", .pairing = kHalf,
     .ropes_per_type = true, .sizes = Sizes::full_own, .shares_kv = true, .windows = Windows::patterned,
     .default_pattern = 6, .last_layer_full = true, .reads_bidirectional = true, .bidirectional_words = true,
     .scale = Scale::one, .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "vaultgemma", .class_stems = "VaultGemma", .pairing = kHalf, .windows = Windows::patterned,
     .default_pattern = 2, .scale = Scale::query_scalar, .soft_cap = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "recurrent_gemma", .class_stems = "RecurrentGemma", .pairing = kHalf, .main = kRecurrentGemmaStack,
     .width = Width::partial_factor, .kinds = Kinds::repeating, .recurrent = kStateSpace,
     .windows = Windows::every_layer, .needs_length = false},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
