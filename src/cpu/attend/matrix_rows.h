// A matrix of queries and keys that the caller gives (LayerInputs::attn_mask, bias), lane by lane beside a tile of
// keys.
#pragma once

#include <array>
#include <cstdint>

#include "cpu/attend/attend_call.h"
#include "cpu/attend/key_tile.h"
#include "cpu/attend/lane_block.h"

namespace posenc::cpu {

class MatrixRows {
 public:
  // x: up to [batch, heads, queries, keys], of 1 or omitted where one serves all.
  MatrixRows(const AttendCall& call, const ConstTensorView& x, const LaneBlock& block, const KeyTile& tile);

  // What stands at the lane and each key of the tile, as floats; what is not 0 stays so. Good until the next call.
  const float* of_lane(std::int64_t lane);

 private:
  ConstTensorView from_lane(std::int64_t lane) const;

  const AttendCall& call_;
  const ConstTensorView& x_;
  const LaneBlock& block_;
  std::int64_t keys_;       // of the tile
  std::int64_t first_key_;  // of them, in the matrix
  std::int64_t key_step_;   // in elements
  std::array<float, kTileKeys> floats_{};
};

// Whether some lane sees some key of the tile, as far as LayerInputs::attn_mask says.
bool shows_any(const AttendCall& call, const LaneBlock& block, const KeyTile& tile);

}  // namespace posenc::cpu
