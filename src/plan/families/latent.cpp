// Decoders with more than one kind of layer, rotation or axis. Facts: the transformers 5.23.0 class named by the stem;
// MiniMax M3: MiniMaxM3VLTextConfig; Step 3.5: Step3p7TextConfig.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

constexpr AxesRule kQwen35Axes{.layout = AxisLayout::interleaved, .sections = {11, 11, 10}};

constexpr OwnKey kLongcatKeys[] = {{&keys::kLayers, "num_layers"}, {&keys::kHeadDim}};
constexpr StackRule kLongcatStack{.own_keys = kLongcatKeys};

// clang-format off
constexpr Family kLatentFamilies[] = {
    // ---- latent attention, indexers, keys made of several tokens ----
    {.name = "deepseek_v32", .class_stems = "DeepseekV32", .pairing = kInterleaved, .latent = true,
     .indexer = IndexerRule{IndexedLayers::every, kHalf}, .misleading_keys = "partial_rotary_factor"},
    {.name = "deepseek_v4", .class_stems = "DeepseekV4", .pairing = kInterleaved, .last_channels = true,
     .yarn_attention_factor = 1.0, .indexer = IndexerRule{IndexedLayers::compressed, kInterleaved, true},
     .compressed_keys = true, .rotates_values = true, .windows = Windows::every_layer, .sinks = true,
     .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "glm_moe_dsa", .class_stems = "GlmMoeDsa", .pairing = kInterleaved, .latent = true,
     .reads_interleave = true, .indexer = IndexerRule{IndexedLayers::shared, kInterleaved},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "kimi_linear", .class_stems = "KimiLinear", .pairing = kInterleaved, .latent = true, .scales = false,
     .kinds = Kinds::numbered, .turning = Turning::no_layer},
    {.name = "longcat_flash", .class_stems = "LongcatFlash", .pairing = kInterleaved, .main = kLongcatStack,
     .latent = true, .two_attentions = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "minicpm3", .class_stems = "MiniCPM3", .pairing = kHalf, .latent = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "minimax_m3", .model_types = "minimax_m3 minimax_m3_vl_text", .class_stems = "MiniMaxM3 MiniMaxM3VLText",
     .pairing = kHalf, .width = Width::factor_or_dim, .indexer = IndexerRule{IndexedLayers::marked, kHalf},
     .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "unlimited_ocr", .model_types = "unlimited_ocr unlimited_ocr_text unlimited-ocr",
     .class_stems = "UnlimitedOcr UnlimitedOcrText", .pairing = kHalf, .windows = Windows::every_layer,
     .keeps_prompt = true, .misleading_keys = "partial_rotary_factor"},

    // ---- rotations, heads and kinds that differ from layer to layer ----
    {.name = "gemma4", .model_types = "gemma4 gemma4_text", .class_stems = "Gemma4 Gemma4Text", .pairing = kHalf,
     .ropes_per_type = true, .sizes = Sizes::full_own, .shares_kv = true, .windows = Windows::patterned,
     .default_pattern = 6, .last_layer_full = true, .reads_bidirectional = true, .bidirectional_words = true,
     .scale = Scale::one, .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "mllama", .model_types = "mllama mllama_text_model", .class_stems = "Mllama MllamaText", .pairing = kHalf,
     .kinds = Kinds::crossing, .qk_norm = QkNormRule{.norm = kRmsPerHead, .cross_layers_only = true},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "step3p5", .class_stems = "Step3p5", .pairing = kHalf, .width = Width::partial_factor,
     .ropes_per_type = true, .rope_lists = true, .sizes = Sizes::sliding_own, .windows = Windows::patterned,
     .default_pattern = 1, .scale = Scale::scalar_or_dim, .qk_norm = QkNormRule{kRmsPerHead},
     .differing_default = DifferingDefault{"rope_theta", "one for each layer (Step-3.5-Flash)"}},
    {.name = "step3p7", .class_stems = "Step3p7", .pairing = kHalf, .width = Width::partial_factor,
     .ropes_per_type = true, .rope_lists = true, .sizes = Sizes::sliding_own, .windows = Windows::patterned,
     .default_pattern = 1, .scale = Scale::scalar_or_dim, .qk_norm = QkNormRule{kRmsPerHead},
     .differing_default = DifferingDefault{"rope_theta", "one for each layer (Step-3.5-Flash)"}},

    // ---- several axes ----
    {.name = "qwen2_vl", .model_types = "qwen2_vl qwen2_vl_text", .class_stems = "Qwen2VL Qwen2VLText",
     .pairing = kHalf, .axes = kQwen2Axes, .windows = Windows::late_layers, .window_switch = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "qwen2_5_vl", .model_types = "qwen2_5_vl qwen2_5_vl_text", .class_stems = "Qwen2_5_VL Qwen2_5_VLText",
     .pairing = kHalf, .axes = kQwen2Axes, .windows = Windows::late_layers, .window_switch = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "qwen3_vl", .model_types = "qwen3_vl qwen3_vl_text", .class_stems = "Qwen3VL Qwen3VLText",
     .pairing = kHalf, .axes = kQwen3Axes, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "qwen3_vl_moe", .model_types = "qwen3_vl_moe qwen3_vl_moe_text",
     .class_stems = "Qwen3VLMoe Qwen3VLMoeText", .pairing = kHalf, .axes = kQwen3Axes,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = "partial_rotary_factor"},
    {.name = "qwen3_5", .model_types = "qwen3_5 qwen3_5_text", .class_stems = "Qwen3_5 Qwen3_5Text", .pairing = kHalf,
     .width = Width::partial_factor, .axes = kQwen35Axes, .kinds = Kinds::listed, .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "qwen3_5_moe", .model_types = "qwen3_5_moe qwen3_5_moe_text", .class_stems = "Qwen3_5Moe Qwen3_5MoeText",
     .pairing = kHalf, .width = Width::partial_factor, .axes = kQwen35Axes, .kinds = Kinds::listed,
     .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "glm4v", .model_types = "glm4v glm4v_text", .class_stems = "Glm4v Glm4vText", .pairing = kInterleaved,
     .width = Width::partial_factor, .axes = kGlmAxes},
};
// clang-format on

}  // namespace

std::span<const Family> latent_families() noexcept { return kLatentFamilies; }

}  // namespace posenc::plan
