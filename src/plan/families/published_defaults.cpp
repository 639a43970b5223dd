// Each value was read in the code named here; code that stands only beside weights was read in copies of it.
//
// baichuan         RotaryEmbedding, models/modeling_baichuan.py of baichuan-inc/Baichuan-7B
// chatglm          vLLM transformers_utils/configs/chatglm.py; rope_ratio: copies of GLM-4's configuration_chatglm.py
// dbrx, ministral3 transformers 5.23.0
// deepseek-native  ModelArgs, inference/model.py of deepseek-ai/DeepSeek-V3
// exaone           vLLM transformers_utils/configs/exaone.py, which calls it rotary_base
// executorch       ModelArgs, examples/models/llama/model_args.py of pytorch/executorch, and apply_scaling beside it
// gptj-native      fixed_pos_embedding, mesh_transformer/layers.py of kingoflolz/mesh-transformer-jax
// hf_olmo          ModelConfig, olmo/config.py of allenai/OLMo
// internlm2        copies of configuration_internlm2.py
// llama-params     precompute_freqs_cis, llama/model.py of meta-llama/llama; apply_scaling, models/llama3/model.py of
//                  meta-llama/llama-models
// minicpm          copies of modeling_minicpm.py and its configuration
// mistral-params   src/mistral_inference/transformer.py of mistralai/mistral-inference
// mixformer-sequential  copies of modeling_mixformer_sequential.py
// nomic_bert       configuration_hf_nomic_bert.py of nomic-ai/contrastors
// qwen             copies of configuration_qwen.py; its first version, which vLLM keeps, has false for both switches:
//                  a warning says so where they are used (rope/draft.cpp)
// transformer      fla/models/transformer/configuration_transformer.py of fla-org/flash-linear-attention
// yuan             modeling_yuan.py in IEIT-Yuan/Yuan-2.0
#include <algorithm>

#include "plan/families/class_defaults.h"

namespace posenc::plan {
namespace {

constexpr std::string_view kBaichuan = "the Baichuan models' published code";
constexpr std::string_view kChatglm = "ChatGLMConfig of its published code";
constexpr std::string_view kDbrx = "DbrxAttentionConfig, transformers 5.23.0";  // of the nested attn_config
constexpr std::string_view kDeepseek = "ModelArgs of DeepSeek-V3's inference code";
constexpr std::string_view kExecutorch = "ModelArgs of ExecuTorch";
constexpr std::string_view kGptj = "fixed_pos_embedding of mesh-transformer-jax";
constexpr std::string_view kLlama2 = "precompute_freqs_cis of Meta's Llama 2 code";  // Llama 3's files give a base
constexpr std::string_view kLlama3 = "apply_scaling of Meta's Llama 3 code";
constexpr std::string_view kMistralInference = "Transformer of mistral-inference";
constexpr std::string_view kExaone = "ExaoneConfig of its published code";
constexpr std::string_view kInternlm2 = "InternLM2Config of its published code";
constexpr std::string_view kFla = "TransformerConfig of flash-linear-attention";
constexpr std::string_view kMinistral = "Ministral3Config, transformers 5.23.0";  // made in its __post_init__
constexpr std::string_view kMixformer = "RotaryEmbedding of Phi-1.5's first published code";
constexpr std::string_view kOlmo = "ModelConfig of OLMo's own code";
constexpr std::string_view kNomic = "NomicBertConfig of its published code";
constexpr std::string_view kYuan = "YuanRotaryEmbedding of its published code";
constexpr std::string_view kMiniCpm = "MiniCPMConfig of its published code";
constexpr std::string_view kQwen = "QWenConfig of its published code";

// clang-format off
constexpr PublishedDefault kDefaults[] = {
    {"baichuan", "rope_theta", "10000.0", kBaichuan},
    {"chatglm", "multi_query_attention", "false", kChatglm},
    {"chatglm", "multi_query_group_num", "1", kChatglm},
    {"chatglm", "rope_ratio", "1.0", kChatglm},
    {"dbrx", "kv_n_heads", "1", kDbrx},
    {"deepseek-native", "beta_fast", "32.0", kDeepseek},
    {"deepseek-native", "beta_slow", "1.0", kDeepseek},
    {"deepseek-native", "mscale", "1.0", kDeepseek},
    {"deepseek-native", "original_seq_len", "4096", kDeepseek},
    {"deepseek-native", "qk_nope_head_dim", "128", kDeepseek},
    {"deepseek-native", "rope_factor", "40.0", kDeepseek},
    {"deepseek-native", "rope_theta", "10000.0", kDeepseek},
    {"deepseek-native", "v_head_dim", "128", kDeepseek},
    {"executorch", "high_freq_factor", "4.0", kExecutorch},
    {"executorch", "low_freq_factor", "1.0", kExecutorch},
    {"executorch", "original_max_position_embeddings", "8192", kExecutorch},
    {"executorch", "rope_scale_factor", "8.0", kExecutorch},
    {"executorch", "rope_theta", "10000.0", kExecutorch},
    {"executorch", "use_hf_rope", "false", kExecutorch},
    {"exaone", "rope_theta", "10000.0", kExaone},
    {"internlm2", "rope_theta", "10000.0", kInternlm2},
    {"gptj-native", "rope_theta", "10000.0", kGptj},
    {"hf_olmo", "alibi", "false", kOlmo},
    {"hf_olmo", "multi_query_attention", "false", kOlmo},
    {"hf_olmo", "rope", "false", kOlmo},
    {"hf_olmo", "rope_theta", "10000.0", kOlmo},
    {"llama-params", "high_freq_factor", "4.0", kLlama3},
    {"llama-params", "low_freq_factor", "1.0", kLlama3},
    {"llama-params", "original_max_position_embeddings", "8192", kLlama3},
    {"llama-params", "rope_scale_factor", "8.0", kLlama3},
    {"llama-params", "rope_theta", "10000.0", kLlama2},
    {"minicpm", "rope_theta", "10000.0", kMiniCpm},
    {"ministral3", "rope_parameters",
     R"({"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 16.0, "original_max_position_embeddings": 16384,
         "beta_fast": 32.0, "beta_slow": 1.0, "mscale_all_dim": 1.0, "mscale": 1.0, "llama_4_scaling_beta": 0.1})",
     kMinistral},
    {"mistral-params", "rope_theta", "1000000.0", kMistralInference},
    {"mixformer-sequential", "rope_theta", "10000.0", kMixformer},
    {"nomic_bert", "max_trained_positions", "2048", kNomic},
    {"qwen", "rotary_emb_base", "10000.0", kQwen},
    {"qwen", "rotary_pct", "1.0", kQwen},
    {"qwen", "use_dynamic_ntk", "true", kQwen},
    {"qwen", "use_logn_attn", "true", kQwen},
    {"transformer", "max_position_embeddings", "2048", kFla},
    {"transformer", "num_heads", "32", kFla},
    {"transformer", "rope_theta", "10000.0", kFla},
    {"yuan", "rope_theta", "10000.0", kYuan},
};
// clang-format on

}  // namespace

const PublishedDefault* find_published_default(std::string_view model_type, std::string_view key) noexcept {
  const auto row = std::ranges::find_if(
      kDefaults, [&](const PublishedDefault& entry) { return entry.model_type == model_type && entry.key == key; });
  return row == std::ranges::end(kDefaults) ? nullptr : row;
}

}  // namespace posenc::plan
