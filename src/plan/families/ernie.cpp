// ERNIE and PaddleOCR, of Baidu. One row a family. Facts: the transformers 5.23.0 class named by the stem.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {

std::span<const Family> ernie_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "ernie4_5", .model_types = "ernie4_5 ernie4_5_moe", .class_stems = "Ernie4_5 Ernie4_5_Moe",
     .pairing = kInterleaved, .misleading_keys = "partial_rotary_factor"},
    {.name = "paddleocr_vl", .model_types = "paddleocr_vl_text", .class_stems = "PaddleOCRText", .pairing = kHalf,
     .axes = kQwen2Axes, .misleading_keys = "partial_rotary_factor"},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
