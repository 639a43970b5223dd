// Tiles of keys so far away under ALiBi (arXiv 2108.12409) that their softmax weights are below f32's resolution: they
// are skipped, so that heads with steep slopes cost what their near keys do.
//
// A score is at most |q| |k| + slope d. Tile t is skipped where that is below max - 25 ln 2 - ln 64 - 2 ln(t + 2), max
// the largest score that the query has met: its 64 keys then weigh less than 2^-25 / (t + 2)^2 of the row's sum, and
// all that are skipped, less than 2^-25. (How many keys come later is not asked: no row depends on that.) Tiles are met
// from the last to the first, so that the near ones come first. The backward pass has the logarithm of the row's sum,
// which no score passes, in max's place: what it skips weighs less than that too.
#pragma once

#include <vector>

#include "cpu/attend/attend_call.h"
#include "cpu/attend/key_tile.h"
#include "cpu/attend/lane_block.h"

namespace posenc::cpu {

class FarTiles {
 public:
  FarTiles() = default;  // none are
  // Measures the keys, where that is worth it: many queries, and ALiBi is all that the layer adds to scores.
  explicit FarTiles(const AttendCall& call);

  bool are_sought() const { return !tiles_.empty(); }
  // Of the block's queries, before is_far is asked.
  void measure(LaneBlock& block) const;
  // Whether the tile at so many keys from the start of the sequence leaves nothing to any lane of the block.
  bool is_far(const LaneBlock& block, std::size_t sequence, std::int64_t kv_head, std::int64_t first) const;

 private:
  struct Tile {
    double low;  // coordinates of its keys
    double high;
    float longest;  // key
  };

  const AttendCall* call_ = nullptr;
  const math::LinearDistance* bias_ = nullptr;
  std::vector<std::size_t> first_tile_;  // of each sequence
  std::vector<Tile> tiles_;              // [tiles of all sequences][kv_heads]
};

}  // namespace posenc::cpu
