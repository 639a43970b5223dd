// A call of attention, cut into its sequences: of the batch, or packed one after another (cu_seqlens).
#pragma once

#include <vector>

#include "reference/attention_row.h"

namespace posenc::inline v0_2::reference {

// The tensors and inputs of a call have been checked (check_double.h).
std::vector<Sequence> sequences_of(const LayerPlan& layer, const AttendArgs& args);

}  // namespace posenc::inline v0_2::reference
