// Phi, of Microsoft. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   mixformer-sequential: modeling_mixformer_sequential.py of phi-1_5's first version.
//   phi-msft: mlx-lm phixtral.py. phi3_v: vLLM phi3v.py, whose text is Phi-3's class.
//   phi4flash: vLLM 0.10 phi4flash.py.
//   phi3small: the modeling_phi3_small.py beside its weights; vLLM 0.6 phi3_small.py.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/layers/layers.h"
#include "plan/rope/keys.h"

namespace posenc::plan {
namespace {

// Positions are divided by rope_position_scale.
Scaling phi3small_scaling(RopeKeys& keys, std::int64_t) {
  const auto place = keys.scope().find(keys::kPositionScale);
  if (!place) return {};
  keys.note("scaling/factor", *place);
  const double factor = keys.reader().number(*place).value_or(1.0);
  return factor == 1 ? Scaling{} : Scaling{LinearScaling{.factor = factor}};
}

// mup_attn_multiplier / head_dim where mup_use_scaling is true.
std::optional<Sourced<double>> phi3small_scale(ConfigScope& scope, const AttentionShape& shape) {
  const Setting<bool> on = scope.flag(keys::kMupScaling);
  if (!on.value.value_or(false)) return {};
  const Sourced<double> factor = scope.required_positive(keys::kMupMultiplier);
  return Sourced<double>{factor.value / static_cast<double>(shape.head_dim.value), factor.from};
}

}  // namespace

std::span<const Family> phi_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "mixformer-sequential", .class_stems = "MixFormerSequential", .pairing = kHalf,
     .own_names = "n_embd n_head n_layer n_positions", .width = Width::rotary_dim, .base = BaseRule::class_own,
     .scales = false, .misleading_keys = kNoDictionaries},
    {.name = "phi", .class_stems = "Phi", .pairing = kHalf, .width = Width::partial_factor,
     .qk_norm = QkNormRule{kLayerNormPerHead, "qk_layernorm"}},
    {.name = "phi-msft", .model_types = "phi-msft phixtral", .class_stems = "Phi Phixtral", .pairing = kHalf,
     .own_names = "n_embd n_head n_layer n_positions", .width = Width::rotary_dim, .base = BaseRule::class_own,
     .scales = false, .misleading_keys = kNoDictionaries},
    {.name = "phi3", .model_types = "phi3 phi3_v", .class_stems = "Phi3 Phi3V", .pairing = kHalf, .width = Width::partial_factor,
     .yarn_means_longrope = true, .longrope_alone = true, .windows = Windows::every_layer},
    // Two softmaxes, apart by a learned factor; nothing tells it positions but its windows and state spaces.
    {.name = "phi4flash", .class_stems = "Phi4Flash", .kinds = Kinds::shared_half, .recurrent = kStateSpace,
     .shares_kv = true, .rotary_layers = RotaryLayers::no_layer, .windows = Windows::first_half,
     .misleading_keys = "rope_theta partial_rotary_factor rope_scaling layer_types"},
    {.name = "phi3small", .class_stems = "Phi3Small", .pairing = kHalf, .block_sparse = BlockSparse::dense_interval,
     .own_scaling = phi3small_scaling, .softmax_scale = phi3small_scale, .misleading_keys = "partial_rotary_factor"},
    {.name = "phimoe", .class_stems = "Phimoe", .pairing = kHalf, .mscales = true, .longrope_alone = true,
     .windows = Windows::every_layer, .misleading_keys = "partial_rotary_factor"},
    {.name = "phi4_multimodal", .class_stems = "Phi4Multimodal", .pairing = kHalf, .width = Width::partial_factor,
     .longrope_alone = true, .windows = Windows::every_layer},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
