// EXAONE. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   exaone: the modeling_exaone.py beside its weights.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {

std::span<const Family> exaone_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "exaone", .class_stems = "Exaone", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "exaone4", .class_stems = "Exaone4", .pairing = kHalf, .rotary_layers = RotaryLayers::sliding_or_windowless,
     .windows = Windows::patterned, .default_pattern = 4, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
    {.name = "exaone_moe", .class_stems = "ExaoneMoe", .pairing = kHalf, .rotary_layers = RotaryLayers::sliding_or_windowless,
     .windows = Windows::patterned, .default_pattern = 4, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
