// Decoders that turn queries and keys, one row a family. Facts: the transformers 5.23.0 class named by the stem.
#include "plan/families/family_norms.h"
#include "plan/families/family_tables.h"

namespace posenc::plan {
namespace {

// ---- names ----
constexpr std::string_view kLlama[] = {"llama"}, kLlamaClass[] = {"Llama"};
constexpr std::string_view kMistral[] = {"mistral"}, kMistralClass[] = {"Mistral"};
constexpr std::string_view kMixtral[] = {"mixtral"}, kMixtralClass[] = {"Mixtral"};
constexpr std::string_view kQwen2[] = {"qwen2", "mimo"}, kQwen2Class[] = {"Qwen2", "MiMo"};
constexpr std::string_view kQwen2Moe[] = {"qwen2_moe"}, kQwen2MoeClass[] = {"Qwen2Moe"};
constexpr std::string_view kQwen3[] = {"qwen3"}, kQwen3Class[] = {"Qwen3"};
constexpr std::string_view kQwen3Moe[] = {"qwen3_moe"}, kQwen3MoeClass[] = {"Qwen3Moe"};
constexpr std::string_view kGemma[] = {"gemma"}, kGemmaClass[] = {"Gemma"};
constexpr std::string_view kGemma2[] = {"gemma2"}, kGemma2Class[] = {"Gemma2"};
constexpr std::string_view kGemma3[] = {"gemma3", "gemma3_text"}, kGemma3Class[] = {"Gemma3", "Gemma3Text"};
constexpr std::string_view kPhi[] = {"phi"}, kPhiClass[] = {"Phi"};
constexpr std::string_view kPhi3[] = {"phi3"}, kPhi3Class[] = {"Phi3"};
constexpr std::string_view kGptNeox[] = {"gpt_neox", "gpt_neox_reward_model"},
                           kGptNeoxClass[] = {"GPTNeoX", "GPTNeoXReward"};
constexpr std::string_view kGptj[] = {"gptj"}, kGptjClass[] = {"GPTJ"};
constexpr std::string_view kStablelm[] = {"stablelm"}, kStablelmClass[] = {"StableLm"};
constexpr std::string_view kCohere[] = {"cohere"}, kCohereClass[] = {"Cohere"};
constexpr std::string_view kCohere2[] = {"cohere2"}, kCohere2Class[] = {"Cohere2"};
constexpr std::string_view kGlm[] = {"glm"}, kGlmClass[] = {"Glm"};
constexpr std::string_view kGlm4[] = {"glm4"}, kGlm4Class[] = {"Glm4"};
constexpr std::string_view kGlm4Moe[] = {"glm4_moe"}, kGlm4MoeClass[] = {"Glm4Moe"};
constexpr std::string_view kDeepseekV2[] = {"deepseek_v2"}, kDeepseekV2Class[] = {"DeepseekV2"};
constexpr std::string_view kDeepseekV3[] = {"deepseek_v3", "kimi_k2"}, kDeepseekV3Class[] = {"DeepseekV3"};
constexpr std::string_view kOlmo[] = {"olmo"}, kOlmoClass[] = {"Olmo"};
constexpr std::string_view kOlmo2[] = {"olmo2"}, kOlmo2Class[] = {"Olmo2"};
constexpr std::string_view kOlmo3[] = {"olmo3"}, kOlmo3Class[] = {"Olmo3"};
constexpr std::string_view kOlmoe[] = {"olmoe"}, kOlmoeClass[] = {"Olmoe"};
constexpr std::string_view kGranite[] = {"granite"}, kGraniteClass[] = {"Granite"};
constexpr std::string_view kGraniteMoe[] = {"granitemoe"}, kGraniteMoeClass[] = {"GraniteMoe"};
constexpr std::string_view kSmollm3[] = {"smollm3"}, kSmollm3Class[] = {"SmolLM3"};
constexpr std::string_view kExaone4[] = {"exaone4"}, kExaone4Class[] = {"Exaone4"};
constexpr std::string_view kLlama4[] = {"llama4", "llama4_text"}, kLlama4Class[] = {"Llama4", "Llama4Text"};
constexpr std::string_view kGptOss[] = {"gpt_oss"}, kGptOssClass[] = {"GptOss"};
constexpr std::string_view kFalcon[] = {"falcon"}, kFalconClass[] = {"Falcon", "RW"};
constexpr std::string_view kCodegen[] = {"codegen"}, kCodegenClass[] = {"CodeGen"};
constexpr std::string_view kDbrx[] = {"dbrx"}, kDbrxClass[] = {"Dbrx"};
constexpr std::string_view kInternlm3[] = {"internlm3"}, kInternlm3Class[] = {"InternLM3"};
constexpr std::string_view kGraniteHybrid[] = {"granitemoehybrid"}, kGraniteHybridClass[] = {"GraniteMoeHybrid"};
constexpr std::string_view kNemotronH[] = {"nemotron_h"}, kNemotronHClass[] = {"NemotronH"};
constexpr std::string_view kMinimaxM2[] = {"minimax_m2"}, kMinimaxM2Class[] = {"MiniMaxM2"};
constexpr std::string_view kMinistral3[] = {"ministral3"}, kMinistral3Class[] = {"Ministral3"};
constexpr std::string_view kPhimoe[] = {"phimoe"}, kPhimoeClass[] = {"Phimoe"};

constexpr std::string_view kNeoxNames[] = {"rotary_emb_base", "rotary_pct"};
constexpr std::string_view kGptjNames[] = {"n_embd", "n_head", "n_layer", "n_positions"};

constexpr std::string_view kNoPartialFactor[] = {"partial_rotary_factor"};
constexpr std::string_view kNoLayerTypes[] = {"partial_rotary_factor", "layer_types"};
constexpr std::string_view kGemma2Misleads[] = {"partial_rotary_factor", "use_bidirectional_attention"};
constexpr std::string_view kGemma3Misleads[] = {"partial_rotary_factor", "attn_logit_softcapping"};
constexpr std::string_view kNoDictionaries[] = {"rope_scaling", "rope_parameters", "rope_theta",
                                                "partial_rotary_factor"};
constexpr std::string_view kNemotronHMisleads[] = {"rope_theta", "partial_rotary_factor", "sliding_window"};
constexpr std::string_view kGptOssMisleads[] = {"partial_rotary_factor", "initial_context_length"};

constexpr Pairing kHalf = Pairing::half;
constexpr Pairing kInterleaved = Pairing::interleaved;

// clang-format off
constexpr Family kFamilies[] = {
    {.name = "llama", .model_types = kLlama, .class_stems = kLlamaClass, .pairing = kHalf,
     .misleading_keys = kNoPartialFactor},
    {.name = "mistral", .model_types = kMistral, .class_stems = kMistralClass, .pairing = kHalf,
     .windows = Windows::every_layer, .misleading_keys = kNoLayerTypes},
    {.name = "mixtral", .model_types = kMixtral, .class_stems = kMixtralClass, .pairing = kHalf,
     .windows = Windows::every_layer, .misleading_keys = kNoLayerTypes},
    {.name = "qwen2", .model_types = kQwen2, .class_stems = kQwen2Class, .pairing = kHalf,
     .dual_chunk = true, .windows = Windows::late_layers, .window_switch = true, .misleading_keys = kNoPartialFactor},
    {.name = "qwen2_moe", .model_types = kQwen2Moe, .class_stems = kQwen2MoeClass, .pairing = kHalf,
     .dual_chunk = true, .windows = Windows::early_even, .window_switch = true, .misleading_keys = kNoPartialFactor},
    {.name = "qwen3", .model_types = kQwen3, .class_stems = kQwen3Class, .pairing = kHalf,
     .dual_chunk = true, .windows = Windows::late_layers, .window_switch = true, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = kNoPartialFactor},
    {.name = "qwen3_moe", .model_types = kQwen3Moe, .class_stems = kQwen3MoeClass, .pairing = kHalf,
     .dual_chunk = true, .windows = Windows::every_layer, .window_switch = true, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = kNoLayerTypes},
    {.name = "gemma", .model_types = kGemma, .class_stems = kGemmaClass, .pairing = kHalf,
     .reads_bidirectional = true, .misleading_keys = kNoPartialFactor},
    {.name = "gemma2", .model_types = kGemma2, .class_stems = kGemma2Class, .pairing = kHalf,
     .windows = Windows::patterned, .default_pattern = 2, .scale = Scale::query_scalar, .soft_cap = true,
     .misleading_keys = kGemma2Misleads},
    {.name = "gemma3", .model_types = kGemma3, .class_stems = kGemma3Class, .pairing = kHalf,
     .ropes_per_type = true, .windows = Windows::patterned, .default_pattern = 6, .reads_bidirectional = true,
     .scale = Scale::query_scalar, .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = kGemma3Misleads},
    {.name = "phi", .model_types = kPhi, .class_stems = kPhiClass, .pairing = kHalf,
     .width = Width::partial_factor, .qk_norm = QkNormRule{kLayerNormPerHead, "qk_layernorm"}},
    {.name = "phi3", .model_types = kPhi3, .class_stems = kPhi3Class, .pairing = kHalf,
     .width = Width::partial_factor, .yarn_means_longrope = true, .windows = Windows::every_layer},
    {.name = "gpt_neox", .model_types = kGptNeox, .class_stems = kGptNeoxClass, .pairing = kHalf,
     .own_names = kNeoxNames, .width = Width::partial_factor},
    {.name = "gptj", .model_types = kGptj, .class_stems = kGptjClass, .pairing = kInterleaved,
     .own_names = kGptjNames, .width = Width::rotary_dim, .base = BaseRule::class_own, .scales = false,
     .misleading_keys = kNoDictionaries},
    {.name = "stablelm", .model_types = kStablelm, .class_stems = kStablelmClass, .pairing = kHalf,
     .width = Width::partial_factor, .qk_norm = QkNormRule{kLayerNormPerHead, "qk_layernorm"}},
    {.name = "cohere", .model_types = kCohere, .class_stems = kCohereClass, .pairing = kInterleaved,
     .qk_norm = QkNormRule{kLayerNormPerHead, "use_qk_norm"}, .misleading_keys = kNoPartialFactor,
     .differing_default = DifferingDefault{"rope_theta", "8000000 (command-r)"}},
    {.name = "cohere2", .model_types = kCohere2, .class_stems = kCohere2Class, .pairing = kInterleaved,
     .turning = Turning::sliding_layers, .windows = Windows::patterned, .default_pattern = 4,
     .misleading_keys = kNoPartialFactor},
    {.name = "glm", .model_types = kGlm, .class_stems = kGlmClass, .pairing = kInterleaved,
     .width = Width::partial_factor},
    {.name = "glm4", .model_types = kGlm4, .class_stems = kGlm4Class, .pairing = kInterleaved,
     .width = Width::partial_factor},
    {.name = "glm4_moe", .model_types = kGlm4Moe, .class_stems = kGlm4MoeClass, .pairing = kHalf,
     .width = Width::partial_factor, .qk_norm = QkNormRule{kRmsPerHead, "use_qk_norm"}},
    {.name = "deepseek_v2", .model_types = kDeepseekV2, .class_stems = kDeepseekV2Class, .pairing = kInterleaved,
     .latent = true, .misleading_keys = kNoPartialFactor},
    {.name = "deepseek_v3", .model_types = kDeepseekV3, .class_stems = kDeepseekV3Class, .pairing = kInterleaved,
     .latent = true, .reads_interleave = true, .misleading_keys = kNoPartialFactor},
    {.name = "olmo", .model_types = kOlmo, .class_stems = kOlmoClass, .pairing = kHalf,
     .misleading_keys = kNoPartialFactor},
    {.name = "olmo2", .model_types = kOlmo2, .class_stems = kOlmo2Class, .pairing = kHalf,
     .qk_norm = QkNormRule{kRmsAcrossHeads}, .misleading_keys = kNoPartialFactor},
    {.name = "olmo3", .model_types = kOlmo3, .class_stems = kOlmo3Class, .pairing = kHalf,
     .ropes_per_type = true, .windows = Windows::patterned, .default_pattern = 4,
     .qk_norm = QkNormRule{kRmsAcrossHeads}, .misleading_keys = kNoPartialFactor},
    {.name = "olmoe", .model_types = kOlmoe, .class_stems = kOlmoeClass, .pairing = kHalf,
     .qk_norm = QkNormRule{kRmsAcrossHeads}, .misleading_keys = kNoPartialFactor},
    {.name = "granite", .model_types = kGranite, .class_stems = kGraniteClass, .pairing = kHalf,
     .scale = Scale::multiplier, .misleading_keys = kNoPartialFactor},
    {.name = "granitemoe", .model_types = kGraniteMoe, .class_stems = kGraniteMoeClass, .pairing = kHalf,
     .scale = Scale::multiplier, .misleading_keys = kNoPartialFactor},
    {.name = "smollm3", .model_types = kSmollm3, .class_stems = kSmollm3Class, .pairing = kHalf,
     .turning = Turning::listed, .windows = Windows::resting_layers, .window_switch = true,
     .misleading_keys = kNoPartialFactor},
    {.name = "exaone4", .model_types = kExaone4, .class_stems = kExaone4Class, .pairing = kHalf,
     .turning = Turning::sliding_or_windowless, .windows = Windows::patterned, .default_pattern = 4,
     .qk_norm = QkNormRule{kRmsPerHead}, .misleading_keys = kNoPartialFactor},
    {.name = "llama4", .model_types = kLlama4, .class_stems = kLlama4Class, .pairing = kInterleaved,
     .turning = Turning::listed, .windows = Windows::chunked_turning, .query_scaling = QueryScaling::resting_layers,
     .qk_norm = QkNormRule{kRmsAfterRotation, "use_qk_norm", true}, .misleading_keys = kNoPartialFactor},
    {.name = "gpt_oss", .model_types = kGptOss, .class_stems = kGptOssClass, .pairing = kHalf,
     .windows = Windows::patterned, .default_pattern = 2, .sinks = true, .misleading_keys = kGptOssMisleads},
    {.name = "falcon", .model_types = kFalcon, .class_stems = kFalconClass, .pairing = kHalf,
     .kv_heads = KvHeads::falcon, .scheme = Scheme::rotation_or_alibi, .misleading_keys = kNoPartialFactor},
    {.name = "codegen", .model_types = kCodegen, .class_stems = kCodegenClass, .pairing = kInterleaved,
     .own_names = kGptjNames, .width = Width::rotary_dim, .base = BaseRule::class_own, .scales = false,
     .misleading_keys = kNoDictionaries},
    {.name = "dbrx", .model_types = kDbrx, .class_stems = kDbrxClass, .pairing = kHalf, .nested = "attn_config",
     .misleading_keys = kNoPartialFactor},
    {.name = "internlm3", .model_types = kInternlm3, .class_stems = kInternlm3Class, .pairing = kHalf,
     .misleading_keys = kNoPartialFactor},
    {.name = "granitemoehybrid", .model_types = kGraniteHybrid, .class_stems = kGraniteHybridClass,
     .pairing = kHalf, .kinds = Kinds::listed, .recurrent = LayerKind::state_space,
     .scheme = Scheme::rotation_by_type, .scale = Scale::multiplier, .misleading_keys = kNoPartialFactor},
    {.name = "nemotron_h", .model_types = kNemotronH, .class_stems = kNemotronHClass, .pairing = kHalf,
     .kinds = Kinds::listed, .recurrent = LayerKind::state_space, .turning = Turning::no_layer,
     .misleading_keys = kNemotronHMisleads},
    {.name = "minimax_m2", .model_types = kMinimaxM2, .class_stems = kMinimaxM2Class, .pairing = kHalf,
     .width = Width::factor_or_dim, .qk_norm = QkNormRule{kRmsAcrossHeads}},
    {.name = "ministral3", .model_types = kMinistral3, .class_stems = kMinistral3Class, .pairing = kHalf,
     .windows = Windows::every_layer, .query_scaling = QueryScaling::beta, .misleading_keys = kNoLayerTypes},
    {.name = "phimoe", .model_types = kPhimoe, .class_stems = kPhimoeClass, .pairing = kHalf,
     .windows = Windows::every_layer, .misleading_keys = kNoPartialFactor},
};
// clang-format on

}  // namespace

std::span<const Family> rotary_families() noexcept { return kFamilies; }

}  // namespace posenc::plan
