// Schemas of model files that are no Hugging Face config, one row each; native_schemas.cpp recognises them.
//
// llama-params    Meta's params.json: model.py of meta-llama/llama, models/llama3 of meta-llama/llama-models
// mistral-params  mistral-inference's transformer.py; vLLM transformers_utils/configs/mistral.py (yarn, windows)
// executorch      examples/models/llama/model_args.py and rope.py of pytorch/executorch
// deepseek-native inference/model.py of deepseek-ai/DeepSeek-V3
// gptj-native     mesh-transformer-jax: layers.py, fixed_pos_embedding and apply_rotary_pos_emb
#include "plan/families/family_norms.h"
#include "plan/families/family_tables.h"

namespace posenc::plan {
namespace {

constexpr std::string_view kLlama[] = {"llama-params"};
constexpr std::string_view kMistral[] = {"mistral-params"};
constexpr std::string_view kMistralLatent[] = {"mistral-latent-params"};
constexpr std::string_view kExecutorch[] = {"executorch"};
constexpr std::string_view kDeepseek[] = {"deepseek-native"};
constexpr std::string_view kGptj[] = {"gptj-native"};

constexpr std::string_view kParamsNames[] = {"dim", "n_heads", "n_layers", "n_kv_heads"};
constexpr std::string_view kGptjNames[] = {"layers", "d_model", "n_heads", "seq", "pe_rotary_dims"};

// Stacks and layers that such a file only hints at.
constexpr std::string_view kLlamaUndecided[] = {"vision_chunk_size", "vision_num_cross_attention_layers",
                                                "vision_model", "fusion_interval"};
constexpr std::string_view kMistralUndecided[] = {"vision_encoder", "multimodal"};
constexpr std::string_view kDeepseekUndecided[] = {"index_n_heads", "compress_ratios"};

constexpr Pairing kHalf = Pairing::half;
constexpr Pairing kInterleaved = Pairing::interleaved;

// clang-format off
constexpr Family kFamilies[] = {
    {.name = "llama-params", .model_types = kLlama, .class_stems = {}, .pairing = kInterleaved,
     .own_names = kParamsNames, .scales = false, .native = NativeRule::scaled_switch,
     .undecided_keys = kLlamaUndecided, .needs_length = false},
    {.name = "mistral-params", .model_types = kMistral, .class_stems = {}, .pairing = kInterleaved,
     .own_names = kParamsNames, .scales = false, .native = NativeRule::yarn_object,
     .windows = Windows::listed, .query_scaling = QueryScaling::beta_object,
     .differing_default = DifferingDefault{"rope_theta", "10000 (Mistral 7B v0.1)"},
     .undecided_keys = kMistralUndecided, .needs_length = false},
    {.name = "mistral-latent-params", .model_types = kMistralLatent, .class_stems = {}, .pairing = kInterleaved,
     .own_names = kParamsNames, .latent = true, .scales = false, .native = NativeRule::yarn_object,
     .query_scaling = QueryScaling::beta_object, .undecided_keys = kMistralUndecided,
     .undecided = "how the YaRN rule enters the logits of latent attention", .needs_length = false},
    {.name = "executorch", .model_types = kExecutorch, .class_stems = {}, .pairing = kInterleaved,
     .own_names = kParamsNames, .pairing_by_switch = true, .width = Width::partial_factor, .scales = false,
     .native = NativeRule::scaled_switch, .ropes_per_type = true, .kinds = Kinds::named,
     .turning = Turning::listed, .windows = Windows::patterned, .scale = Scale::multiplier_or_dim,
     .qk_norm = QkNormRule{.norm = kRmsPerHead, .switch_key = "use_qk_norm", .before_key = "qk_norm_before_rope"},
     .undecided_keys = kLlamaUndecided, .needs_length = false},
    {.name = "deepseek-native", .model_types = kDeepseek, .class_stems = {}, .pairing = kInterleaved,
     .own_names = kParamsNames, .latent = true, .scales = false, .native = NativeRule::rope_factor,
     .undecided_keys = kDeepseekUndecided, .needs_length = false},
    {.name = "gptj-native", .model_types = kGptj, .class_stems = {}, .pairing = kInterleaved,
     .own_names = kGptjNames, .width = Width::rotary_dim, .scales = false, .scheme = Scheme::rotation_by_type},
};
// clang-format on

}  // namespace

std::span<const Family> native_families() noexcept { return kFamilies; }

}  // namespace posenc::plan
