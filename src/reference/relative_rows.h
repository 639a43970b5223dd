// Rows of Shaw's tables, arXiv 1803.02155, of keys and of values: row clip(j - i, -left, right) + left, learned or
// sines (NEZHA, arXiv 1909.00204).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "posenc/attention.h"
#include "reference/gradients.h"

namespace posenc::inline v0_2::reference {

// Of ShawKeys or ShawValues.
struct Clipping {
  std::int64_t left;   // distances beyond it into the past are as it
  std::int64_t right;  // into the future
  bool sinusoidal;
};

// The place of that distance in a learned table.
std::int64_t relative_place(const Clipping& clipping, std::int64_t distance);

// The row of that distance, [channels]. Sinusoidal, NEZHA (arXiv 1909.00204): row clip(j - i) + left of a table of
// sines.
// `weights` is not read then, and may be null. distance is i - j.
std::vector<double> relative_row(const Clipping& clipping, const ShawWeights* weights, std::int64_t h,
                                 std::int64_t distance, std::int64_t channels);

// Adds d, [channels], to the gradient of that row: nothing where rows are sines.
void add_relative_row(const Clipping& clipping, const ShawWeights* weights, std::int64_t h, std::int64_t distance,
                      std::span<const double> d, std::string_view name, NamedSums& learned);

}  // namespace posenc::inline v0_2::reference
