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
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

constexpr Names kQwenMisleads{"rope_scaling rope_parameters partial_rotary_factor"};

// clang-format off
constexpr Family kPublishedFamilies[] = {
    // position_encoding_2d is of chatglm-6b, the first GLM: two coordinates for a token, of which half a head each
    // turns by.
    {.name = "chatglm", .class_stems = "ChatGLM", .pairing = kInterleaved,
     .own_names = "num_layers kv_channels multi_query_group_num seq_length", .kv_heads = KvHeads::given_where_grouped,
     .width = Width::half_head, .base = BaseRule::ratio, .scales = false, .misleading_keys = kNoDictionaries,
     .undecided_keys = "position_encoding_2d"},
    {.name = "qwen", .class_stems = "QWen", .pairing = kHalf,
     .own_names = "seq_length rotary_emb_base kv_channels rotary_pct", .width = Width::partial_factor, .scales = false,
     .qwen_ntk = true, .query_scaling = QueryScaling::logn, .misleading_keys = kQwenMisleads},
    {.name = "exaone", .class_stems = "Exaone", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "internlm2", .class_stems = "InternLM2", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "minicpm", .class_stems = "MiniCPM", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "bailing_moe", .class_stems = "BailingMoe", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "baichuan", .class_stems = "Baichuan", .pairing = kHalf, .scales = false, .scheme = Scheme::by_width,
     .misleading_keys = kQwenMisleads},
    {.name = "yuan", .class_stems = "Yuan", .pairing = kHalf, .base = BaseRule::class_own, .scales = false,
     .misleading_keys = kNoDictionaries},
    {.name = "PanguEmbedded", .class_stems = "PanguEmbedded", .pairing = kHalf,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "nemotron-nas", .class_stems = "DeciLM", .pairing = kHalf, .pairing_by_type = true, .kinds = Kinds::blocks,
     .sizes = Sizes::blocks, .misleading_keys = "partial_rotary_factor"},
    {.name = "mixformer-sequential", .class_stems = "MixFormerSequential", .pairing = kHalf,
     .own_names = "n_embd n_head n_layer n_positions", .width = Width::rotary_dim, .base = BaseRule::class_own,
     .scales = false, .misleading_keys = kNoDictionaries},
    // The kind of its attention_layer_norm depends on layer_norm_type.
    {.name = "hf_olmo", .class_stems = "OLMo", .pairing = kHalf,
     .own_names = "d_model n_heads n_layers n_kv_heads max_sequence_length", .kv_heads = KvHeads::given_or_one,
     .scales = false, .scheme = Scheme::by_flags, .misleading_keys = kQwenMisleads,
     .undecided_keys = "attention_layer_norm"},
    {.name = "transformer", .class_stems = "Transformer", .pairing = kHalf,
     .own_names = "num_heads num_kv_heads window_size", .scales = false, .windows = Windows::every_layer,
     .qk_norm = QkNormRule{kRmsPerHead, "qk_norm"}, .misleading_keys = kQwenMisleads},
    // attn: attention in some of the layers.
    {.name = "gla", .class_stems = "GLA", .pairing = kHalf, .kinds = Kinds::listed, .turning = Turning::no_layer,
     .undecided_keys = "attn", .needs_length = false},
    {.name = "openelm", .class_stems = "OpenELM", .pairing = kHalf,
     .own_names = "num_query_heads num_transformer_layers rope_freq_constant", .scales = false, .sizes = Sizes::listed,
     .qk_norm = QkNormRule{kRmsPerHead, "normalize_qk_projections"}, .misleading_keys = kQwenMisleads},
    {.name = "phi3small", .class_stems = "Phi3Small", .pairing = kHalf, .position_scale = true,
     .block_sparse = BlockSparse::dense_interval, .scale = Scale::mup, .misleading_keys = "partial_rotary_factor"},
    {.name = "rugpt3xl", .class_stems = "RuGPT3XL", .pairing = kHalf, .scheme = Scheme::learned,
     .block_sparse = BlockSparse::alternating},
    {.name = "falcon_perception", .class_stems = "FalconPerception", .pairing = kInterleaved, .width = Width::half_head,
     .scales = false,
     .undecided = "the second half of a head turns by learned frequencies of two axes, and image tokens see each "
         "other both ways; a plan cannot hold that"},
};
// clang-format on

}  // namespace

std::span<const Family> published_families() noexcept { return kPublishedFamilies; }

}  // namespace posenc::plan
