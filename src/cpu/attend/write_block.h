// The end of a block of lanes: sums of the online softmax as outputs, out = sum p v / sum p, and lse.
#pragma once

#include "cpu/attend/attend_call.h"
#include "cpu/attend/lane_block.h"

namespace posenc::cpu {

// Writes out, lse and carry of the block's queries.
void write_block(const AttendCall& call, const LaneBlock& block, RowScratch& scratch);

}  // namespace posenc::cpu
