// The attention mask: which keys a query sees, by the plan's mask, in the order of the sequence, and by the caller's.
#pragma once

#include "reference/attention_row.h"

namespace posenc::inline v0_2::reference {

// Whether query row.i attends to key j of its sequence. attn_mask hides where it is 0.
bool is_visible(const Row& row, std::int64_t j);

// Element [batch, head, i, j] of a tensor that may have fewer axes, or 1 where it serves all.
double broadcast(const ConstTensorView& x, const Row& row, std::int64_t j);

}  // namespace posenc::inline v0_2::reference
