// Which channels of a head are rotated, and by which coordinate: what Rope and RotaryLayout have in common. Partial
// rotation (GPT-NeoX's rotary_pct, Phi's partial_rotary_factor) is dim < head_dim.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "posenc/error.h"
#include "posenc/rotary_table.h"

namespace posenc::math {

// Channels of one head. No model comes near (512 is the largest known); the bound keeps a hostile config from asking
// for gigabytes.
inline constexpr std::int64_t kMaxHeadDim = 65536;

// The first member that contradicts another, or nothing. `axes` included.
std::optional<Problem> check_layout(const RotaryLayout& layout);

// For ladders that are laid over the axes: every axis has as many pairs, one block each in order or, where they may
// alternate, one pair each in turn.
std::optional<Problem> check_shares(const RotaryLayout& layout, bool may_alternate);

}  // namespace posenc::math
