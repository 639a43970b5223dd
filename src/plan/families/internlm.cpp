// InternLM. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   internlm2: the modeling_internlm2.py beside its weights.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {

std::span<const Family> internlm_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "internlm2", .class_stems = "InternLM2", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
    {.name = "internlm3", .class_stems = "InternLM3", .pairing = kHalf, .misleading_keys = "partial_rotary_factor"},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
