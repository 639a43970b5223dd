// Decoders whose class is not in transformers 5.23.0, one row a family. Facts: the code that was published beside their
// weights, and where that agrees or is silent, what vLLM and llama.cpp run.
//
// chatglm    modeling_chatglm.py and configuration_chatglm.py of chatglm2-6b, chatglm3-6b, glm-4-9b
// qwen       modeling_qwen.py and configuration_qwen.py of Qwen-7B
// exaone, internlm2, minicpm, bailing_moe, baichuan, yuan: the modeling_*.py beside their weights
// PanguEmbedded    modular_openpangu_dense.py (LlamaAttention)
// nemotron-nas     modeling_decilm.py; vLLM nemotron_nas.py (which pairs, where position_embedding_type is absent)
// mixformer-sequential  modeling_mixformer_sequential.py of phi-1_5's first version
// hf_olmo          olmo/model.py and olmo/config.py of allenai/OLMo
// openelm          modeling_openelm.py beside its weights (OpenELMMultiHeadCausalAttention)
// phi3small        modeling_phi3_small.py beside its weights; vLLM 0.6 phi3_small.py
// rugpt3xl         llama.cpp src/models/rugpt3xl.cpp; ai-forever/ru-gpts (DeepSpeed's fixed pattern)
// falcon_perception  falcon_perception/rope.py of tiiuae/Falcon-Perception
// transformer, gla fla/models and fla/layers/attn.py of flash-linear-attention
#include "plan/families/family_norms.h"
#include "plan/families/family_tables.h"

namespace posenc::plan {
namespace {

// ---- names ----
// chatglm-6b, the first GLM: two coordinates for a token, of which half a head each turns by.
constexpr std::string_view kChatglmUndecided[] = {"position_encoding_2d"};
constexpr std::string_view kChatglm[] = {"chatglm"}, kChatglmClass[] = {"ChatGLM"};
constexpr std::string_view kQwen[] = {"qwen"}, kQwenClass[] = {"QWen"};
constexpr std::string_view kExaone[] = {"exaone"}, kExaoneClass[] = {"Exaone"};
constexpr std::string_view kInternlm2[] = {"internlm2"}, kInternlm2Class[] = {"InternLM2"};
constexpr std::string_view kMiniCpm[] = {"minicpm"}, kMiniCpmClass[] = {"MiniCPM"};
constexpr std::string_view kBailing[] = {"bailing_moe"}, kBailingClass[] = {"BailingMoe"};
constexpr std::string_view kBaichuan[] = {"baichuan"}, kBaichuanClass[] = {"Baichuan"};
constexpr std::string_view kYuan[] = {"yuan"}, kYuanClass[] = {"Yuan"};
constexpr std::string_view kPangu[] = {"PanguEmbedded"}, kPanguClass[] = {"PanguEmbedded"};
constexpr std::string_view kNemotronNas[] = {"nemotron-nas"}, kNemotronNasClass[] = {"DeciLM"};
constexpr std::string_view kMixformer[] = {"mixformer-sequential"}, kMixformerClass[] = {"MixFormerSequential"};
constexpr std::string_view kHfOlmo[] = {"hf_olmo"}, kHfOlmoClass[] = {"OLMo"};
constexpr std::string_view kFla[] = {"transformer"}, kFlaClass[] = {"Transformer"};
constexpr std::string_view kGla[] = {"gla"}, kGlaClass[] = {"GLA"};

constexpr std::string_view kOpenelm[] = {"openelm"}, kOpenelmClass[] = {"OpenELM"};
constexpr std::string_view kPhi3Small[] = {"phi3small"}, kPhi3SmallClass[] = {"Phi3Small"};
constexpr std::string_view kRugpt[] = {"rugpt3xl"}, kRugptClass[] = {"RuGPT3XL"};
constexpr std::string_view kFalconPerception[] = {"falcon_perception"};
constexpr std::string_view kFalconPerceptionClass[] = {"FalconPerception"};

constexpr std::string_view kChatglmNames[] = {"num_layers", "kv_channels", "multi_query_group_num", "seq_length"};
constexpr std::string_view kQwenNames[] = {"seq_length", "rotary_emb_base", "kv_channels", "rotary_pct"};
constexpr std::string_view kGptNames[] = {"n_embd", "n_head", "n_layer", "n_positions"};
constexpr std::string_view kOlmoNames[] = {"d_model", "n_heads", "n_layers", "n_kv_heads", "max_sequence_length"};
constexpr std::string_view kOpenelmNames[] = {"num_query_heads", "num_transformer_layers", "rope_freq_constant"};
constexpr std::string_view kFlaNames[] = {"num_heads", "num_kv_heads", "window_size"};

constexpr std::string_view kNoPartialFactor[] = {"partial_rotary_factor"};
constexpr std::string_view kNoDictionaries[] = {"rope_scaling", "rope_parameters", "rope_theta",
                                                "partial_rotary_factor"};
constexpr std::string_view kQwenMisleads[] = {"rope_scaling", "rope_parameters", "partial_rotary_factor"};
constexpr std::string_view kOlmoUndecided[] = {"attention_layer_norm"};  // its kind depends on layer_norm_type
constexpr std::string_view kGlaUndecided[] = {"attn"};                   // attention in some of the layers

constexpr Pairing kHalf = Pairing::half;
constexpr Pairing kInterleaved = Pairing::interleaved;

// clang-format off
constexpr Family kFamilies[] = {
    {.name = "chatglm", .model_types = kChatglm, .class_stems = kChatglmClass, .pairing = kInterleaved,
     .own_names = kChatglmNames, .kv_heads = KvHeads::given_where_grouped, .width = Width::half_head,
     .base = BaseRule::ratio, .scales = false, .misleading_keys = kNoDictionaries, .undecided_keys = kChatglmUndecided},
    {.name = "qwen", .model_types = kQwen, .class_stems = kQwenClass, .pairing = kHalf, .own_names = kQwenNames,
     .width = Width::partial_factor, .scales = false, .qwen_ntk = true, .query_scaling = QueryScaling::logn,
     .misleading_keys = kQwenMisleads},
    {.name = "exaone", .model_types = kExaone, .class_stems = kExaoneClass, .pairing = kHalf,
     .misleading_keys = kNoPartialFactor},
    {.name = "internlm2", .model_types = kInternlm2, .class_stems = kInternlm2Class, .pairing = kHalf,
     .misleading_keys = kNoPartialFactor},
    {.name = "minicpm", .model_types = kMiniCpm, .class_stems = kMiniCpmClass, .pairing = kHalf,
     .misleading_keys = kNoPartialFactor},
    {.name = "bailing_moe", .model_types = kBailing, .class_stems = kBailingClass, .pairing = kHalf,
     .misleading_keys = kNoPartialFactor},
    {.name = "baichuan", .model_types = kBaichuan, .class_stems = kBaichuanClass, .pairing = kHalf, .scales = false,
     .scheme = Scheme::by_width, .misleading_keys = kQwenMisleads},
    {.name = "yuan", .model_types = kYuan, .class_stems = kYuanClass, .pairing = kHalf, .base = BaseRule::class_own,
     .scales = false, .misleading_keys = kNoDictionaries},
    {.name = "PanguEmbedded", .model_types = kPangu, .class_stems = kPanguClass, .pairing = kHalf,
     .misleading_keys = kNoPartialFactor},
    {.name = "nemotron-nas", .model_types = kNemotronNas, .class_stems = kNemotronNasClass, .pairing = kHalf,
     .pairing_by_type = true, .kinds = Kinds::blocks, .sizes = Sizes::blocks,
     .misleading_keys = kNoPartialFactor},
    {.name = "mixformer-sequential", .model_types = kMixformer, .class_stems = kMixformerClass, .pairing = kHalf,
     .own_names = kGptNames, .width = Width::rotary_dim, .base = BaseRule::class_own, .scales = false,
     .misleading_keys = kNoDictionaries},
    {.name = "hf_olmo", .model_types = kHfOlmo, .class_stems = kHfOlmoClass, .pairing = kHalf,
     .own_names = kOlmoNames, .kv_heads = KvHeads::given_or_one, .scales = false, .scheme = Scheme::by_flags,
     .misleading_keys = kQwenMisleads, .undecided_keys = kOlmoUndecided},
    {.name = "transformer", .model_types = kFla, .class_stems = kFlaClass, .pairing = kHalf, .own_names = kFlaNames,
     .scales = false, .windows = Windows::every_layer, .qk_norm = QkNormRule{kRmsPerHead, "qk_norm"},
     .misleading_keys = kQwenMisleads},
    {.name = "gla", .model_types = kGla, .class_stems = kGlaClass, .pairing = kHalf, .kinds = Kinds::listed,
     .turning = Turning::no_layer, .undecided_keys = kGlaUndecided, .needs_length = false},
    {.name = "openelm", .model_types = kOpenelm, .class_stems = kOpenelmClass, .pairing = kHalf,
     .own_names = kOpenelmNames, .scales = false, .sizes = Sizes::listed,
     .qk_norm = QkNormRule{kRmsPerHead, "normalize_qk_projections"}, .misleading_keys = kQwenMisleads},
    {.name = "phi3small", .model_types = kPhi3Small, .class_stems = kPhi3SmallClass, .pairing = kHalf,
     .position_scale = true, .block_sparse = BlockSparse::dense_interval, .scale = Scale::mup,
     .misleading_keys = kNoPartialFactor},
    {.name = "rugpt3xl", .model_types = kRugpt, .class_stems = kRugptClass, .pairing = kHalf,
     .scheme = Scheme::learned, .block_sparse = BlockSparse::alternating},
    {.name = "falcon_perception", .model_types = kFalconPerception, .class_stems = kFalconPerceptionClass,
     .pairing = kInterleaved, .width = Width::half_head, .scales = false,
     .undecided = "the second half of a head turns by learned frequencies of two axes, and image tokens see each "
                  "other both ways; a plan cannot hold that"},
};
// clang-format on

}  // namespace

std::span<const Family> published_families() noexcept { return kFamilies; }

}  // namespace posenc::plan
