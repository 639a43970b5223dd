// Decoders with other layers than attention between, of makers with one or two. One row a family. Facts: the
// transformers 5.23.0 class named by the stem; but of
//   Lfm2BidirectionalModel: vLLM lfm2.py.
//   gla: fla/models and fla/layers/attn.py of flash-linear-attention.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/rope/scheme_choice.h"

namespace posenc::plan {
namespace {

constexpr OwnKey kZambaKeys[] = {{&keys::kHeadDim, "attention_head_dim"}};
// Behind the attention that several layers share stands the layer's Mamba mixer.
constexpr StackRule kZambaStack{.own_keys = kZambaKeys, .mixing = {.beside = LayerKind::state_space}};

// Each channel is a head of its own, whose past fades by a learned factor a step (arXiv 2305.13048).
constexpr OwnKey kRwkvKeys[] = {{&keys::kHeads, "attention_hidden_size", "hidden_size"},
                                {&keys::kHidden, "attention_hidden_size", "hidden_size"},
                                {&keys::kLength, "context_length"},
                                {&keys::kKvHeads},
                                {&keys::kHeadDim}};
constexpr StackRule kRwkvStack{.own_keys = kRwkvKeys};

constexpr ClassStacks kLfm2Stacks[] = {{"Lfm2BidirectionalModel", kSeesBothWays}};

// A rotation where use_mem_rope is true.
SchemeChoice zamba2_scheme(ConfigScope& scope, const SchemeFacts&) {
  const Setting<bool> rotates = scope.flag(keys::kMemoryRope);
  if (rotates.value.value_or(false)) return choose_rotation(rotates.from);
  return {.from = rotates.from.empty() ? family_default(scope.family()) : rotates.from};
}

}  // namespace

std::span<const Family> hybrids_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "jamba", .class_stems = "Jamba", .pairing = kHalf, .kinds = Kinds::periodic, .recurrent = kStateSpace,
     .rotary_layers = RotaryLayers::no_layer},
    {.name = "lfm2", .model_types = "lfm2 lfm2_moe", .class_stems = "Lfm2 Lfm2Moe Lfm2Bidirectional ColBERTLfm2", .pairing = kHalf, .class_stacks = kLfm2Stacks,
     .kinds = Kinds::indexed, .recurrent = LayerKind::convolution, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    // partial_rotary_factor is read of its proportional rotations alone.
    {.name = "lfm3", .class_stems = "Lfm3", .pairing = kHalf, .ropes_per_type = true, .kinds = Kinds::listed,
     .recurrent = LayerKind::convolution, .windows = Windows::patterned, .needs_types = true,
     .qk_norm = QkNormRule{kRmsPerHead}},
    {.name = "zamba", .class_stems = "Zamba", .pairing = kHalf, .main = kZambaStack, .double_width = true,
     .kinds = Kinds::listed, .recurrent = kStateSpace, .rotary_layers = RotaryLayers::no_layer, .needs_types = true,
     .scale = Scale::half_head_dim},
    {.name = "zamba2", .class_stems = "Zamba2", .pairing = kHalf, .main = kZambaStack, .double_width = true,
     .kinds = Kinds::listed, .recurrent = kStateSpace, .needs_types = true, .scale = Scale::half_head_dim,
     .scheme = zamba2_scheme, .misleading_keys = "partial_rotary_factor"},
    {.name = "rwkv", .class_stems = "Rwkv", .main = kRwkvStack, .kinds = Kinds::listed,
     .rotary_layers = RotaryLayers::no_layer, .needs_length = false},
    // attn: attention in some of the layers.
    {.name = "gla", .class_stems = "GLA", .pairing = kHalf, .kinds = Kinds::listed, .rotary_layers = RotaryLayers::no_layer,
     .undecided_keys = "attn", .needs_length = false},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
