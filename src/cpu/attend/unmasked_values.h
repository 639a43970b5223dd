// PV for a tile in which some values are non-finite (NaN, Inf) and some are masked for some lanes.
#pragma once

#include "cpu/attend/attend_call.h"
#include "cpu/attend/key_tile.h"
#include "cpu/attend/lane_block.h"

namespace posenc::cpu {

// out = rescale out + p values, of the lanes of one KV head of the block, each lane by itself and without what weighs
// nothing: a product would take 0 NaN, which is NaN, and so let masked keys leak into rows that do not see them: memory
// behind the end of a cache, padding, the future. Slow; such tiles are rare.
void add_unmasked_values(const AttendCall& call, LaneBlock& block, KeyTile& tile, std::int64_t kv_head, const float* p,
                         const float* rescale);

}  // namespace posenc::cpu
