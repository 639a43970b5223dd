// What callers of the tables may get wrong. Each throws Error "[where] x must be Y but is Z" before any work is done.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "posenc/rotary_table.h"

namespace posenc::cpu {

// Positions, and angles in radians, are at most this in magnitude.
inline constexpr double kLargest = 0x1p53;

// head_dim, first_channel, dim and axes fit each other (math/layout.h).
void check_layout(std::string_view where, const RotaryLayout& layout);

// inv_freq: [pairs], finite, at most kLargest in magnitude. attention_factor: finite as a float.
void check_frequencies(std::string_view where, const Frequencies& frequencies, std::int64_t pairs);
void check_factor(std::string_view where, double attention_factor);

// The range of a table: count >= 0, start .. start + count - 1 within kLargest.
void check_range(std::string_view where, std::int64_t start, std::int64_t count);

// cos and sin, f32, of `rows` rows fit into max_bytes.
void check_bytes(std::string_view where, std::string_view what, std::int64_t rows, std::int64_t pairs,
                 std::int64_t max_bytes);

// Every position times every frequency is at most kLargest in magnitude.
void check_angles(std::string_view where, double largest_position, const Frequencies& frequencies);

}  // namespace posenc::cpu
