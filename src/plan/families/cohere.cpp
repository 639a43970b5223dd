// Command, of Cohere. One row a family. Facts: the transformers 5.23.0 class named by the stem.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {

std::span<const Family> cohere_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "cohere", .class_stems = "Cohere", .pairing = kInterleaved,
     .qk_norm = QkNormRule{kLayerNormPerHead, "use_qk_norm"}, .misleading_keys = "partial_rotary_factor",
     .differing_default = DifferingDefault{"rope_theta", "8000000 (command-r)"}},
    {.name = "cohere2", .class_stems = "Cohere2", .pairing = kInterleaved, .rotary_layers = RotaryLayers::sliding_layers,
     .windows = Windows::patterned, .default_pattern = 4, .misleading_keys = "partial_rotary_factor"},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
