// Step. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   step3p5 and step3p7: Step3p7TextConfig.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {

std::span<const Family> step_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "step3p5", .class_stems = "Step3p5", .pairing = kHalf, .width = Width::partial_factor,
     .ropes_per_type = true, .rope_lists = true, .sizes = Sizes::sliding_own, .windows = Windows::patterned,
     .default_pattern = 1, .scale = Scale::scalar_or_dim, .qk_norm = QkNormRule{kRmsPerHead},
     .differing_default = DifferingDefault{"rope_theta", "one for each layer (Step-3.5-Flash)"}},
    {.name = "step3p7", .class_stems = "Step3p7", .pairing = kHalf, .width = Width::partial_factor,
     .ropes_per_type = true, .rope_lists = true, .sizes = Sizes::sliding_own, .windows = Windows::patterned,
     .default_pattern = 1, .scale = Scale::scalar_or_dim, .qk_norm = QkNormRule{kRmsPerHead},
     .differing_default = DifferingDefault{"rope_theta", "one for each layer (Step-3.5-Flash)"}},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
