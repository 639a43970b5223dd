// The value stage: what is added to a value, by distance (Shaw et al., arXiv 1803.02155).
#pragma once

#include <cstdint>
#include <vector>

#include "reference/attention_row.h"

namespace posenc::inline v0_2::reference {

// [value_dim]
std::vector<double> shaw_row(const ShawValues& scheme, const ShawWeights& weights, const Row& row, std::int64_t j);

}  // namespace posenc::inline v0_2::reference
