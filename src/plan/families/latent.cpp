// Decoders with more than one kind of layer, rotation or axis. Facts: the transformers 5.23.0 class named by the stem;
// MiniMax M3: MiniMaxM3VLTextConfig; Step 3.5: Step3p7TextConfig.
#include "plan/families/family_norms.h"
#include "plan/families/family_tables.h"

namespace posenc::plan {
namespace {

// ---- names ----
constexpr std::string_view kDeepseekV32[] = {"deepseek_v32"}, kDeepseekV32Class[] = {"DeepseekV32"};
constexpr std::string_view kDeepseekV4[] = {"deepseek_v4"}, kDeepseekV4Class[] = {"DeepseekV4"};
constexpr std::string_view kGlmMoeDsa[] = {"glm_moe_dsa"}, kGlmMoeDsaClass[] = {"GlmMoeDsa"};
constexpr std::string_view kKimiLinear[] = {"kimi_linear"}, kKimiLinearClass[] = {"KimiLinear"};
constexpr std::string_view kLongcat[] = {"longcat_flash"}, kLongcatClass[] = {"LongcatFlash"};
constexpr std::string_view kMinicpm3[] = {"minicpm3"}, kMinicpm3Class[] = {"MiniCPM3"};
constexpr std::string_view kMinimaxM3[] = {"minimax_m3", "minimax_m3_vl_text"},
                           kMinimaxM3Class[] = {"MiniMaxM3", "MiniMaxM3VLText"};
constexpr std::string_view kStep35[] = {"step3p5"}, kStep35Class[] = {"Step3p5"};
constexpr std::string_view kStep37[] = {"step3p7"}, kStep37Class[] = {"Step3p7"};
constexpr std::string_view kUnlimitedOcr[] = {"unlimited_ocr", "unlimited_ocr_text", "unlimited-ocr"},
                           kUnlimitedOcrClass[] = {"UnlimitedOcr", "UnlimitedOcrText"};
constexpr std::string_view kGemma4[] = {"gemma4", "gemma4_text"}, kGemma4Class[] = {"Gemma4", "Gemma4Text"};
constexpr std::string_view kQwen35[] = {"qwen3_5", "qwen3_5_text"}, kQwen35Class[] = {"Qwen3_5", "Qwen3_5Text"};
constexpr std::string_view kQwen35Moe[] = {"qwen3_5_moe", "qwen3_5_moe_text"},
                           kQwen35MoeClass[] = {"Qwen3_5Moe", "Qwen3_5MoeText"};
constexpr std::string_view kQwen3Vl[] = {"qwen3_vl", "qwen3_vl_text"}, kQwen3VlClass[] = {"Qwen3VL", "Qwen3VLText"};
constexpr std::string_view kQwen3VlMoe[] = {"qwen3_vl_moe", "qwen3_vl_moe_text"},
                           kQwen3VlMoeClass[] = {"Qwen3VLMoe", "Qwen3VLMoeText"};
constexpr std::string_view kQwen2Vl[] = {"qwen2_vl", "qwen2_vl_text"}, kQwen2VlClass[] = {"Qwen2VL", "Qwen2VLText"};
constexpr std::string_view kQwen25Vl[] = {"qwen2_5_vl", "qwen2_5_vl_text"},
                           kQwen25VlClass[] = {"Qwen2_5_VL", "Qwen2_5_VLText"};
constexpr std::string_view kGlm4v[] = {"glm4v", "glm4v_text"}, kGlm4vClass[] = {"Glm4v", "Glm4vText"};
constexpr std::string_view kMllama[] = {"mllama", "mllama_text_model"}, kMllamaClass[] = {"Mllama", "MllamaText"};

constexpr std::string_view kNoPartialFactor[] = {"partial_rotary_factor"};

constexpr Pairing kHalf = Pairing::half;
constexpr Pairing kInterleaved = Pairing::interleaved;

// Where a file has no mrope_section, the class deals out these pairs of t, h and w.
constexpr AxesRule kQwen2Axes{.layout = AxisLayout::chunked, .sections = {16, 24, 24}};
constexpr AxesRule kQwen3Axes{.layout = AxisLayout::interleaved, .sections = {24, 20, 20}};
constexpr AxesRule kQwen35Axes{.layout = AxisLayout::interleaved, .sections = {11, 11, 10}};
constexpr AxesRule kGlmAxes{.layout = AxisLayout::chunked, .sections = {8, 12, 12}};

constexpr std::string_view kNumLayers[] = {"num_layers"};
constexpr OwnKey kLongcatKeys[] = {{&keys::kLayers, kNumLayers}, {&keys::kHeadDim}};
constexpr StackRule kLongcatStack{.own_keys = kLongcatKeys};

// clang-format off
constexpr Family kFamilies[] = {
    // ---- latent attention, indexers, keys made of several tokens ----
    {.name = "deepseek_v32", .model_types = kDeepseekV32, .class_stems = kDeepseekV32Class, .pairing = kInterleaved,
     .latent = true, .indexer = IndexerRule{IndexedLayers::every, kHalf}, .misleading_keys = kNoPartialFactor},
    {.name = "deepseek_v4", .model_types = kDeepseekV4, .class_stems = kDeepseekV4Class, .pairing = kInterleaved,
     .last_channels = true, .yarn_attention_factor = 1.0,
     .indexer = IndexerRule{IndexedLayers::compressed, kInterleaved, true}, .compressed_keys = true,
     .rotates_values = true, .windows = Windows::every_layer, .sinks = true, .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "glm_moe_dsa", .model_types = kGlmMoeDsa, .class_stems = kGlmMoeDsaClass, .pairing = kInterleaved,
     .latent = true, .reads_interleave = true, .indexer = IndexerRule{IndexedLayers::shared, kInterleaved},
     .misleading_keys = kNoPartialFactor},
    {.name = "kimi_linear", .model_types = kKimiLinear, .class_stems = kKimiLinearClass, .pairing = kInterleaved,
     .latent = true, .scales = false, .kinds = Kinds::numbered, .turning = Turning::no_layer},
    {.name = "longcat_flash", .model_types = kLongcat, .class_stems = kLongcatClass, .pairing = kInterleaved,
     .main = kLongcatStack, .latent = true, .two_attentions = true, .misleading_keys = kNoPartialFactor},
    {.name = "minicpm3", .model_types = kMinicpm3, .class_stems = kMinicpm3Class, .pairing = kHalf,
     .latent = true, .misleading_keys = kNoPartialFactor},
    {.name = "minimax_m3", .model_types = kMinimaxM3, .class_stems = kMinimaxM3Class, .pairing = kHalf,
     .width = Width::factor_or_dim, .indexer = IndexerRule{IndexedLayers::marked, kHalf},
     .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "unlimited_ocr", .model_types = kUnlimitedOcr, .class_stems = kUnlimitedOcrClass, .pairing = kHalf,
     .windows = Windows::every_layer, .keeps_prompt = true, .misleading_keys = kNoPartialFactor},

    // ---- rotations, heads and kinds that differ from layer to layer ----
    {.name = "gemma4", .model_types = kGemma4, .class_stems = kGemma4Class, .pairing = kHalf,
     .ropes_per_type = true, .sizes = Sizes::full_own, .shares_kv = true, .windows = Windows::patterned,
     .default_pattern = 6, .last_layer_full = true, .reads_bidirectional = true, .bidirectional_words = true,
     .scale = Scale::one, .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "mllama", .model_types = kMllama, .class_stems = kMllamaClass, .pairing = kHalf,
     .kinds = Kinds::crossing, .qk_norm = QkNormRule{.norm = kRmsPerHead, .cross_layers_only = true},
     .misleading_keys = kNoPartialFactor},
    {.name = "step3p5", .model_types = kStep35, .class_stems = kStep35Class, .pairing = kHalf,
     .width = Width::partial_factor, .ropes_per_type = true, .rope_lists = true, .sizes = Sizes::sliding_own,
     .windows = Windows::patterned, .default_pattern = 1, .scale = Scale::scalar_or_dim,
     .qk_norm = QkNormRule{kRmsPerHead},
     .differing_default = DifferingDefault{"rope_theta", "one for each layer (Step-3.5-Flash)"}},
    {.name = "step3p7", .model_types = kStep37, .class_stems = kStep37Class, .pairing = kHalf,
     .width = Width::partial_factor, .ropes_per_type = true, .rope_lists = true, .sizes = Sizes::sliding_own,
     .windows = Windows::patterned, .default_pattern = 1, .scale = Scale::scalar_or_dim,
     .qk_norm = QkNormRule{kRmsPerHead},
     .differing_default = DifferingDefault{"rope_theta", "one for each layer (Step-3.5-Flash)"}},

    // ---- several axes ----
    {.name = "qwen2_vl", .model_types = kQwen2Vl, .class_stems = kQwen2VlClass, .pairing = kHalf,
     .axes = kQwen2Axes, .windows = Windows::late_layers, .window_switch = true,
     .misleading_keys = kNoPartialFactor},
    {.name = "qwen2_5_vl", .model_types = kQwen25Vl, .class_stems = kQwen25VlClass, .pairing = kHalf,
     .axes = kQwen2Axes, .windows = Windows::late_layers, .window_switch = true,
     .misleading_keys = kNoPartialFactor},
    {.name = "qwen3_vl", .model_types = kQwen3Vl, .class_stems = kQwen3VlClass, .pairing = kHalf,
     .axes = kQwen3Axes, .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = kNoPartialFactor},
    {.name = "qwen3_vl_moe", .model_types = kQwen3VlMoe, .class_stems = kQwen3VlMoeClass, .pairing = kHalf,
     .axes = kQwen3Axes, .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = kNoPartialFactor},
    {.name = "qwen3_5", .model_types = kQwen35, .class_stems = kQwen35Class, .pairing = kHalf,
     .width = Width::partial_factor, .axes = kQwen35Axes, .kinds = Kinds::listed,
     .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "qwen3_5_moe", .model_types = kQwen35Moe, .class_stems = kQwen35MoeClass, .pairing = kHalf,
     .width = Width::partial_factor, .axes = kQwen35Axes, .kinds = Kinds::listed,
     .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "glm4v", .model_types = kGlm4v, .class_stems = kGlm4vClass, .pairing = kInterleaved,
     .width = Width::partial_factor, .axes = kGlmAxes},
};
// clang-format on

}  // namespace

std::span<const Family> latent_families() noexcept { return kFamilies; }

}  // namespace posenc::plan
