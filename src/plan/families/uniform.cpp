// More decoders whose layers all turn alike, one row a family. Facts: the transformers 5.23.0 class named by the stem.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

constexpr StackRule kEqualHeads{.own_keys = kPlainHeads};

constexpr QkNorm kWeightedRmsAfter{.kind = QkNorm::Kind::rms, .order = QkNorm::Order::after};

// Where a file has no mrope_section, the class deals out these pairs of t, h and w.

// clang-format off
constexpr Family kUniformFamilies[] = {
    // ---- Llama, but for the norm of q and k, the pairing or the scale ----
    {.name = "apertus", .class_stems = "Apertus", .pairing = kHalf, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "arcee", .class_stems = "Arcee", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "aria_text", .class_stems = "AriaText", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "bitnet", .class_stems = "BitNet Bitnet", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    // Two softmaxes of the same scores, apart by a learned factor (arXiv 2410.05258): positions are Llama's.
    {.name = "diffllama", .class_stems = "DiffLlama", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "doge", .class_stems = "Doge", .pairing = kHalf, .windows = Windows::every_layer,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor",
     .undecided = "a number made of each value is added to its key's scores, and the keys with the largest are kept; a "
         "plan cannot hold that"},
    {.name = "ernie4_5", .model_types = "ernie4_5 ernie4_5_moe", .class_stems = "Ernie4_5 Ernie4_5_Moe",
     .pairing = kInterleaved, .misleading_keys = "partial_rotary_factor"},
    {.name = "flex_olmo", .class_stems = "FlexOlmo", .pairing = kHalf, .qk_norm = QkNormRule{kRmsAcrossHeads},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "granitemoeshared", .class_stems = "GraniteMoeShared", .pairing = kHalf, .scale = Scale::multiplier,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "helium", .class_stems = "Helium", .pairing = kInterleaved, .misleading_keys = "partial_rotary_factor"},
    {.name = "hunyuan_v1", .model_types = "hunyuan_v1_dense hunyuan_v1_moe",
     .class_stems = "HunYuanDenseV1 HunYuanMoEV1", .pairing = kHalf, .alpha_stretches = true,
     .qk_norm = QkNormRule{kWeightedRmsAfter}, .misleading_keys = "partial_rotary_factor"},
    {.name = "hy_v3", .class_stems = "HYV3", .pairing = kHalf, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "hyperclovax", .class_stems = "HyperCLOVAX", .pairing = kHalf, .scale = Scale::multiplier_or_dim,
     .misleading_keys = "partial_rotary_factor"},
    // Llama's class runs its files; clip_qkv and windows are refused there.
    {.name = "iquestcoder", .class_stems = "IQuestCoder", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "jais2", .class_stems = "Jais2", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    // rotate_half is (b, -a).
    {.name = "nanochat", .class_stems = "NanoChat", .pairing = kHalf, .rotation_direction = RotationDirection::clockwise,
     .qk_norm = QkNormRule{QkNorm{.kind = QkNorm::Kind::rms, .order = QkNorm::Order::after, .weighted = false}},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "jetmoe", .class_stems = "JetMoe", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "seed_oss", .class_stems = "SeedOss", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "solar_open", .class_stems = "SolarOpen", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "starcoder2", .class_stems = "Starcoder2", .pairing = kHalf, .windows = Windows::every_layer,
     .misleading_keys = "partial_rotary_factor layer_types"},

    // ---- a part of each head turns ----
    {.name = "gpt_neox_japanese", .class_stems = "GPTNeoXJapanese", .pairing = kHalf,
     .own_names = "rotary_emb_base rotary_pct", .main = kEqualHeads, .width = Width::partial_factor},
    {.name = "nemotron", .class_stems = "Nemotron", .pairing = kHalf, .width = Width::partial_factor},
    {.name = "persimmon", .class_stems = "Persimmon", .pairing = kHalf, .main = kEqualHeads,
     .width = Width::partial_factor, .qk_norm = QkNormRule{kLayerNormPerHead, "qk_layernorm"}},
    {.name = "phi4_multimodal", .class_stems = "Phi4Multimodal", .pairing = kHalf, .width = Width::partial_factor,
     .windows = Windows::every_layer},

    // ---- several axes ----
    {.name = "glm4v_moe", .model_types = "glm4v_moe_text", .class_stems = "Glm4vMoeText", .pairing = kHalf,
     .width = Width::partial_factor, .axes = kGlmAxes},
    {.name = "glm_ocr", .model_types = "glm_ocr_text", .class_stems = "GlmOcrText", .pairing = kInterleaved,
     .width = Width::partial_factor, .axes = kGlmAxes},
    {.name = "paddleocr_vl", .model_types = "paddleocr_vl_text", .class_stems = "PaddleOCRText", .pairing = kHalf,
     .axes = kQwen2Axes, .misleading_keys = "partial_rotary_factor"},
    {.name = "qwen2_5_omni", .model_types = "qwen2_5_omni_text", .class_stems = "Qwen2_5OmniText", .pairing = kHalf,
     .axes = kQwen2Axes, .windows = Windows::late_layers, .window_switch = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "qwen3_omni_moe", .model_types = "qwen3_omni_moe_text", .class_stems = "Qwen3OmniMoeText",
     .pairing = kHalf, .axes = kQwen3Axes, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},

    // ---- latent attention ----
    {.name = "glm4_moe_lite", .class_stems = "Glm4MoeLite", .pairing = kInterleaved, .latent = true,
     .reads_interleave = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "mistral4", .class_stems = "Mistral4", .pairing = kInterleaved, .latent = true, .reads_interleave = true,
     .query_scaling = QueryScaling::beta, .misleading_keys = "partial_rotary_factor"},
    {.name = "youtu", .class_stems = "Youtu", .pairing = kInterleaved, .latent = true, .reads_interleave = true,
     .misleading_keys = "partial_rotary_factor"},
};
// clang-format on

}  // namespace

std::span<const Family> uniform_families() noexcept { return kUniformFamilies; }

}  // namespace posenc::plan
