// GLM. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   chatglm: modeling_chatglm.py and configuration_chatglm.py of chatglm2-6b, chatglm3-6b, glm-4-9b.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {

std::span<const Family> glm_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    // position_encoding_2d is of chatglm-6b, the first GLM: two coordinates for a token, of which half a head each
    // rotates by.
    {.name = "chatglm", .class_stems = "ChatGLM", .pairing = kInterleaved,
     .own_names = "num_layers kv_channels multi_query_group_num seq_length", .kv_heads = KvHeads::given_where_grouped,
     .width = Width::half_head, .base = BaseRule::ratio, .scales = false, .misleading_keys = kNoDictionaries,
     .undecided_keys = "position_encoding_2d"},
    {.name = "glm", .class_stems = "Glm", .pairing = kInterleaved, .width = Width::partial_factor},
    {.name = "glm4", .class_stems = "Glm4", .pairing = kInterleaved, .width = Width::partial_factor},
    {.name = "glm4_moe", .class_stems = "Glm4Moe", .pairing = kHalf, .width = Width::partial_factor,
     .qk_norm = QkNormRule{kRmsPerHead, "use_qk_norm"}},
    {.name = "glm4_moe_lite", .class_stems = "Glm4MoeLite", .pairing = kInterleaved, .latent = true,
     .reads_interleave = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "glm_moe_dsa", .class_stems = "GlmMoeDsa", .pairing = kInterleaved,
     .names_beside_class = "indexer_rope_interleave",  // vLLM
     .latent = true, .indexer = IndexerRule{IndexedLayers::shared, kInterleaved},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "glm5_next_text", .class_stems = "Glm5NextText", .pairing = kInterleaved, .latent = true, .scales = false,
     .indexer = IndexerRule{IndexedLayers::shared, kInterleaved}, .kinds = Kinds::listed,
     .rotary_layers = RotaryLayers::no_layer, .default_pattern = 4},
    {.name = "glm4v", .model_types = "glm4v glm4v_text", .class_stems = "Glm4v Glm4vText", .pairing = kInterleaved,
     .width = Width::partial_factor, .axes = kGlmAxes},
    {.name = "glm4v_moe", .model_types = "glm4v_moe_text glm_image_text", .class_stems = "Glm4vMoeText GlmImageText", .pairing = kHalf,
     .width = Width::partial_factor, .axes = kGlmAxes},
    {.name = "glm_ocr", .model_types = "glm_ocr_text", .class_stems = "GlmOcrText", .pairing = kInterleaved,
     .width = Width::partial_factor, .axes = kGlmAxes},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
