// MiniCPM. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   minicpm: the modeling_minicpm.py beside its weights.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {

std::span<const Family> minicpm_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "minicpm", .class_stems = "MiniCPM", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "minicpm3", .class_stems = "MiniCPM3", .pairing = kHalf, .latent = true,
     .misleading_keys = "partial_rotary_factor"},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
