// Falcon. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   RefinedWeb, RefinedWebModel: RWConfig of vLLM's transformers_utils/configs/falcon.py; Falcon's class runs them.
//   falcon_perception: falcon_perception/rope.py of tiiuae/Falcon-Perception.
#include <cmath>

#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/layers/layers.h"
#include "plan/rope/scheme_choice.h"

namespace posenc::plan {
namespace {

SchemeChoice falcon_scheme(ConfigScope& scope, const SchemeFacts& facts) {
  const Setting<bool> biased = scope.flag(keys::kAlibi);
  if (!biased.value.value_or(false)) {
    return choose_rotation(biased.from.empty() ? family_default(scope.family()) : biased.from);
  }
  // build_alibi_tensor: bfloat16 in every model, and the product with an integer is taken in bfloat16 too.
  SchemeChoice choice = choose_alibi(scope, facts.heads, biased.from);
  choice.alibi->scaled = true;
  choice.alibi->form = AlibiForm::column_bfloat16;
  return choice;
}

// key_multiplier / sqrt(head_dim).
std::optional<Sourced<double>> falcon_h1_scale(ConfigScope& scope, const AttentionShape& shape) {
  const Sourced<double> factor = scope.required_positive(keys::kKeyMultiplier);
  return Sourced<double>{factor.value * (1 / std::sqrt(static_cast<double>(shape.head_dim.value))), factor.from};
}

// A Mamba mixer reads what attention reads, in every layer.
constexpr StackRule kFalconH1Stack{.mixing = {.beside = LayerKind::state_space}};

}  // namespace

std::span<const Family> falcon_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "falcon", .model_types = "falcon RefinedWebModel", .class_stems = "Falcon RW", .pairing = kHalf, .kv_heads = KvHeads::falcon,
     .scheme = falcon_scheme, .misleading_keys = "partial_rotary_factor", .needs_length = false},
    // The 40B's first files: heads of keys and values by n_head_kv, as with new_decoder_architecture.
    {.name = "refined_web", .model_types = "RefinedWeb", .class_stems = "RW", .pairing = kHalf, .scheme = falcon_scheme,
     .misleading_keys = "partial_rotary_factor", .needs_length = false},
    {.name = "falcon_h1", .class_stems = "FalconH1", .pairing = kHalf, .main = kFalconH1Stack,
     .softmax_scale = falcon_h1_scale, .misleading_keys = "partial_rotary_factor"},
    {.name = "falcon_perception", .class_stems = "FalconPerception", .pairing = kInterleaved, .width = Width::half_head,
     .scales = false,
     .undecided = "the second half of a head rotates by learned frequencies of two axes, and image tokens see each "
         "other both ways; a plan cannot hold that"},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
