// Hunyuan. One row a family. Facts: the transformers 5.23.0 class named by the stem.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {
namespace {

constexpr QkNorm kWeightedRmsAfter{.kind = QkNorm::Kind::rms, .order = QkNorm::Order::after};

}  // namespace

std::span<const Family> hunyuan_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "hunyuan_v1", .model_types = "hunyuan_v1_dense hunyuan_v1_moe",
     .class_stems = "HunYuanDenseV1 HunYuanMoEV1", .pairing = kHalf, .alpha_stretches = true,
     .qk_norm = QkNormRule{kWeightedRmsAfter}, .misleading_keys = "partial_rotary_factor"},
    {.name = "hy_v3", .class_stems = "HYV3", .pairing = kHalf, .qk_norm = QkNormRule{kRmsPerHead},
     .misleading_keys = "partial_rotary_factor"},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
