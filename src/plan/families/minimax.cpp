// MiniMax. One row a family. Facts: the transformers 5.23.0 class named by the stem; but of
//   minimax_m3: MiniMaxM3VLTextConfig.
#include "plan/families/family_tables.h"
#include "plan/families/row_parts.h"

namespace posenc::plan {

std::span<const Family> minimax_families() noexcept {
  // clang-format off
  static constexpr Family kRows[] = {
    {.name = "minimax", .class_stems = "MiniMax", .pairing = kHalf, .kinds = Kinds::listed,
     .windows = Windows::every_layer, .default_pattern = 2, .first_of_pattern = true,
     .misleading_keys = "partial_rotary_factor"},
    {.name = "minimax_m2", .class_stems = "MiniMaxM2", .pairing = kHalf, .width = Width::factor_or_dim,
     .qk_norm = QkNormRule{kRmsAcrossHeads}},
    {.name = "minimax_m3", .model_types = "minimax_m3 minimax_m3_vl_text", .class_stems = "MiniMaxM3 MiniMaxM3VLText",
     .pairing = kHalf, .width = Width::factor_or_dim, .indexer = IndexerRule{IndexedLayers::marked, kHalf},
     .qk_norm = QkNormRule{kRmsPerHead}},
  };
  // clang-format on
  return kRows;
}

}  // namespace posenc::plan
