// The value stage: what is added to a value, by distance (Shaw et al., arXiv 1803.02155).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/attention_row.h"
#include "reference/gradients.h"

namespace posenc::inline v0_2::reference {

// [value_dim]
std::vector<double> shaw_row(const ShawValues& scheme, const ShawWeights& weights, const Row& row, std::int64_t j);
// d: the gradient of what it gave, added to that of the table.
void shaw_row_backward(const ShawValues& scheme, const ShawWeights& weights, const Row& row, std::int64_t j,
                       std::span<const double> d, NamedSums& learned);

}  // namespace posenc::inline v0_2::reference
