// Nemotron, of NVIDIA. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   nemotron-nas: modeling_decilm.py; vLLM nemotron_nas.py (which pairs, where position_embedding_type is absent).
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {

std::span<const Family> nemotron_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "nemotron", .class_stems = "Nemotron", .pairing = kHalf, .width = Width::partial_factor},
    {.name = "nemotron_h", .class_stems = "NemotronH", .pairing = kHalf, .kinds = Kinds::listed,
     .recurrent = LayerKind::state_space, .rotary_layers = RotaryLayers::no_layer,
     .misleading_keys = "rope_theta partial_rotary_factor sliding_window"},
    {.name = "nemotron-nas", .class_stems = "DeciLM", .pairing = kHalf, .pairing_by_type = true, .kinds = Kinds::blocks,
     .sizes = Sizes::blocks, .misleading_keys = "partial_rotary_factor"},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
