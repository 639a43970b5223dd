// Schemas of model files that are no Hugging Face config, one row each; native_schemas.cpp recognises them.
//
// llama-params    Meta's params.json: model.py of meta-llama/llama, models/llama3 of meta-llama/llama-models
// mistral-params  mistral-inference's transformer.py; vLLM transformers_utils/configs/mistral.py (yarn, windows)
// executorch      examples/models/llama/model_args.py and rope.py of pytorch/executorch
// deepseek-native inference/model.py of deepseek-ai/DeepSeek-V3
// gptj-native     mesh-transformer-jax: layers.py, fixed_pos_embedding and apply_rotary_pos_emb
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

constexpr Names kLlamaUndecided{"vision_chunk_size vision_num_cross_attention_layers vision_model fusion_interval"};

// Stacks and layers that such a file only hints at.

// clang-format off
constexpr Family kNativeFamilies[] = {
    {.name = "llama-params", .pairing = kInterleaved, .own_names = "dim n_heads n_layers n_kv_heads", .scales = false,
     .native = NativeRule::scaled_switch, .undecided_keys = kLlamaUndecided, .needs_length = false},
    {.name = "mistral-params", .pairing = kInterleaved, .own_names = "dim n_heads n_layers n_kv_heads", .scales = false,
     .native = NativeRule::yarn_object, .windows = Windows::listed, .query_scaling = QueryScaling::beta_object,
     .differing_default = DifferingDefault{"rope_theta", "10000 (Mistral 7B v0.1)"},
     .undecided_keys = "vision_encoder multimodal", .needs_length = false},
    {.name = "mistral-latent-params", .pairing = kInterleaved, .own_names = "dim n_heads n_layers n_kv_heads",
     .latent = true, .scales = false, .native = NativeRule::yarn_object, .query_scaling = QueryScaling::beta_object,
     .undecided_keys = "vision_encoder multimodal",
     .undecided = "how the YaRN rule enters the logits of latent attention", .needs_length = false},
    {.name = "executorch", .pairing = kInterleaved, .own_names = "dim n_heads n_layers n_kv_heads",
     .pairing_by_switch = true, .width = Width::partial_factor, .scales = false, .native = NativeRule::scaled_switch,
     .ropes_per_type = true, .kinds = Kinds::named, .turning = Turning::listed, .windows = Windows::patterned,
     .scale = Scale::multiplier_or_dim,
     .qk_norm = QkNormRule{.norm = kRmsPerHead, .switch_key = "use_qk_norm", .before_key = "qk_norm_before_rope"},
     .undecided_keys = kLlamaUndecided, .needs_length = false},
    {.name = "deepseek-native", .pairing = kInterleaved, .own_names = "dim n_heads n_layers n_kv_heads", .latent = true,
     .scales = false, .native = NativeRule::rope_factor, .undecided_keys = "index_n_heads compress_ratios",
     .needs_length = false},
    {.name = "gptj-native", .pairing = kInterleaved, .own_names = "layers d_model n_heads seq pe_rotary_dims",
     .width = Width::rotary_dim, .scales = false, .scheme = Scheme::rotation_by_type},
};
// clang-format on

}  // namespace

std::span<const Family> native_families() noexcept { return kNativeFamilies; }

}  // namespace posenc::plan
