// What a block of lanes has summed, as outputs.
#pragma once

#include "cpu/attend/attend_call.h"
#include "cpu/attend/lane_block.h"

namespace posenc::cpu {

// Writes out, lse and carry of the block's queries.
void finish_block(const AttendCall& call, const LaneBlock& block, RowScratch& scratch);

}  // namespace posenc::cpu
