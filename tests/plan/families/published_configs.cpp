// Small configs of rotary families whose files differ from Llama's in a key or a default.
#include "plan/families/family_configs.h"

namespace posenc::test {
namespace {

constexpr FamilyConfig kPublishedConfigs[] = {
    {"openelm", R"({"model_type": "openelm", "architectures": ["OpenELMForCausalLM"], "head_dim": 32,
      "num_transformer_layers": 2, "num_query_heads": [6, 8], "num_kv_heads": [3, 4], "max_context_length": 2048,
      "rope_freq_constant": 20000, "normalize_qk_projections": true})"},
    {"phi3small", R"({"model_type": "phi3small", "architectures": ["Phi3SmallForCausalLM"], "hidden_size": 512,
      "num_attention_heads": 8, "num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 8192,
      "rope_embedding_base": 1000000, "rope_position_scale": 2.0, "mup_use_scaling": true, "mup_attn_multiplier": 2.0,
      "blocksparse_block_size": 32, "blocksparse_num_local_blocks": 8, "blocksparse_vert_stride": 4,
      "dense_attention_every_n_layers": 2})"},
    {"rugpt3xl", R"({"model_type": "rugpt3xl", "architectures": ["RuGPT3XLForCausalLM"], "hidden_size": 256,
      "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 1024, "sparse_mode": "alternating",
      "sparse_block_size": 16, "sparse_num_local_blocks": 4, "sparse_num_global_blocks": 2})"},
    {"falcon_perception", R"({"model_type": "falcon_perception",
      "architectures": ["FalconPerceptionForSegmentation"], "n_layers": 2, "n_heads": 8, "head_dim": 64,
      "n_kv_heads": 4, "max_seq_len": 4096, "rope_theta": 20000})"},
    {"yuan", R"({"model_type": "yuan", "architectures": ["YuanForCausalLM"], "hidden_size": 512,
      "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 4096})"},
    {"phimoe", R"({"model_type": "phimoe", "architectures": ["PhiMoEForCausalLM"], "hidden_size": 64,
      "num_attention_heads": 8, "num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 16384,
      "original_max_position_embeddings": 4096, "rope_theta": 20000.0, "sliding_window": 1024,
      "rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1.5, 2], "long_factor": [1, 4, 8, 16],
        "short_mscale": 1.125, "long_mscale": 1.25}})"},
    {"exaone", R"({"model_type": "exaone", "architectures": ["ExaoneForCausalLM"], "head_dim": 64,
      "num_attention_heads": 8, "num_key_value_heads": 2, "num_layers": 2, "max_position_embeddings": 32768,
      "rope_theta": 1000000.0, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}})"},
    {"internlm2", R"({"model_type": "internlm2", "architectures": ["InternLM2ForCausalLM"], "hidden_size": 512,
      "num_attention_heads": 8, "num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 32768,
      "rope_theta": 1000000, "rope_scaling": {"type": "dynamic", "factor": 2.0}})"},
    {"internlm3", R"({"model_type": "internlm3", "architectures": ["InternLM3ForCausalLM"], "head_dim": 128,
      "num_attention_heads": 8, "num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 32768,
      "rope_theta": 50000000, "rope_scaling": {"rope_type": "dynamic", "factor": 6.0}})"},
    {"minicpm", R"({"model_type": "minicpm", "architectures": ["MiniCPMForCausalLM"], "hidden_size": 64,
      "num_attention_heads": 8, "num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 32768,
      "rope_theta": 20000.0, "rope_scaling": {"rope_type": "longrope", "short_factor": [1, 1.5, 2, 2.5],
        "long_factor": [1, 3, 5, 7], "original_max_position_embeddings": 8192}})"},
    {"bailing_moe", R"({"model_type": "bailing_moe", "architectures": ["BailingMoeForCausalLM"], "hidden_size": 768,
      "num_attention_heads": 8, "num_key_value_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 16384,
      "rope_theta": 600000})"},
    {"PanguEmbedded", R"({"model_type": "PanguEmbedded", "architectures": ["PanguEmbeddedForCausalLM"],
      "hidden_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 2, "num_hidden_layers": 2,
      "max_position_embeddings": 32768, "rope_theta": 16000000.0})"},
    {"mixformer-sequential", R"({"model_type": "mixformer-sequential",
      "architectures": ["MixFormerSequentialForCausalLM"], "n_embd": 512, "n_head": 8, "n_layer": 2,
      "n_positions": 2048, "rotary_dim": 32})"},
    {"mimo", R"({"model_type": "mimo", "architectures": ["MiMoForCausalLM"], "head_dim": 128,
      "num_attention_heads": 8, "num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 32768,
      "rope_theta": 640000, "use_sliding_window": false})"},
    {"gpt_neox_reward_model", R"({"model_type": "gpt_neox_reward_model", "architectures": ["GPTNeoXRewardModel"],
      "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 2048,
      "rotary_emb_base": 20000, "rotary_pct": 0.25})"},
};

}  // namespace

std::span<const FamilyConfig> published_configs() { return kPublishedConfigs; }

}  // namespace posenc::test
