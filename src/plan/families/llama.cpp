// Llama and Code World Model, of Meta. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   llama-params: Meta's params.json: model.py of meta-llama/llama, models/llama3 of meta-llama/llama-models.
//   executorch: examples/models/llama/model_args.py and rope.py of pytorch/executorch.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

constexpr Names kLlamaUndecided{"vision_chunk_size vision_num_cross_attention_layers vision_model fusion_interval"};

}  // namespace

std::span<const Family> llama_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "llama", .class_stems = "Llama", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "llama4", .model_types = "llama4 llama4_text", .class_stems = "Llama4 Llama4Text", .pairing = kInterleaved,
     .turning = Turning::listed, .windows = Windows::chunked_turning, .query_scaling = QueryScaling::resting_layers,
     .qk_norm = QkNormRule{kRmsAfterRotation, "use_qk_norm", true}, .misleading_keys = "partial_rotary_factor"},
    {.name = "mllama", .model_types = "mllama mllama_text_model", .class_stems = "Mllama MllamaText", .pairing = kHalf,
     .kinds = Kinds::crossing, .qk_norm = QkNormRule{.norm = kRmsPerHead, .cross_layers_only = true},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "cwm", .class_stems = "Cwm", .pairing = kHalf, .windows = Windows::patterned, .default_pattern = 4,
     .first_of_pattern = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "llama-params", .pairing = kInterleaved, .own_names = "dim n_heads n_layers n_kv_heads", .scales = false,
     .native = NativeRule::scaled_switch, .undecided_keys = kLlamaUndecided, .needs_length = false},
    {.name = "executorch", .pairing = kInterleaved, .own_names = "dim n_heads n_layers n_kv_heads",
     .pairing_by_switch = true, .width = Width::partial_factor, .scales = false, .native = NativeRule::scaled_switch,
     .ropes_per_type = true, .kinds = Kinds::named, .turning = Turning::listed, .windows = Windows::patterned,
     .scale = Scale::multiplier_or_dim,
     .qk_norm = QkNormRule{.norm = kRmsPerHead, .switch_key = "use_qk_norm", .before_key = "qk_norm_before_rope"},
     .undecided_keys = kLlamaUndecided, .needs_length = false},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
