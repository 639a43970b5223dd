// Granite, of IBM, and Bamba. One row a family. Facts: the transformers 5.23.0 class named by the stem.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"
#include "plan/rope/scheme_choice.h"

namespace posenc::plan {
std::span<const Family> granite_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "granite", .model_types = "granite granite4_vision_text granite_docling_text",
     .class_stems = "Granite Granite4VisionText GraniteDoclingText", .pairing = kHalf, .scale = Scale::multiplier,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "granitemoe", .class_stems = "GraniteMoe", .pairing = kHalf, .scale = Scale::multiplier,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "granitemoeshared", .class_stems = "GraniteMoeShared", .pairing = kHalf, .scale = Scale::multiplier,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "granitemoehybrid", .class_stems = "GraniteMoeHybrid", .pairing = kHalf, .kinds = Kinds::listed,
     .recurrent = LayerKind::state_space, .scale = Scale::multiplier, .scheme = scheme_by_type,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "granite_swa", .model_types = "granite_swa granitemoe_swa", .class_stems = "GraniteSWA GraniteMoeSWA",
     .pairing = kHalf, .layer_bases = true, .windows = Windows::patterned, .default_pattern = 4,
     .first_of_pattern = true, .scale = Scale::multiplier, .sinks = true, .misleading_keys = "partial_rotary_factor"},
    {.name = "bamba", .class_stems = "Bamba", .pairing = kHalf, .width = Width::partial_factor,
     .kinds = Kinds::indexed_only, .recurrent = kStateSpace},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
