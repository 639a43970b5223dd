// Mistral. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   mistral-params: mistral-inference's transformer.py; vLLM transformers_utils/configs/mistral.py (yarn, windows).
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {

std::span<const Family> mistral_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "mistral", .class_stems = "Mistral", .pairing = kHalf, .windows = Windows::every_layer,
     .misleading_keys = "partial_rotary_factor layer_types"},
    {.name = "mixtral", .class_stems = "Mixtral", .pairing = kHalf, .windows = Windows::every_layer,
     .misleading_keys = "partial_rotary_factor layer_types"},
    {.name = "ministral", .class_stems = "Ministral", .pairing = kHalf, .windows = Windows::listed_or_every,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "ministral3", .class_stems = "Ministral3", .pairing = kHalf, .windows = Windows::every_layer,
     .query_scaling = QueryScaling::beta, .misleading_keys = "partial_rotary_factor layer_types"},
    {.name = "mistral4", .class_stems = "Mistral4", .pairing = kInterleaved, .latent = true, .reads_interleave = true,
     .query_scaling = QueryScaling::beta, .misleading_keys = "partial_rotary_factor"},
    {.name = "mistral-params", .pairing = kInterleaved, .own_names = "dim n_heads n_layers n_kv_heads", .scales = false,
     .native = NativeRule::yarn_object, .windows = Windows::listed, .query_scaling = QueryScaling::beta_object,
     .differing_default = DifferingDefault{"rope_theta", "10000 (Mistral 7B v0.1)"},
     .undecided_keys = "vision_encoder multimodal", .needs_length = false},
    {.name = "mistral-latent-params", .pairing = kInterleaved, .own_names = "dim n_heads n_layers n_kv_heads",
     .latent = true, .scales = false, .native = NativeRule::yarn_object, .query_scaling = QueryScaling::beta_object,
     .undecided_keys = "vision_encoder multimodal",
     .undecided = "how the YaRN rule enters the logits of latent attention", .needs_length = false},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
