// Rows of cos and sin in any of the three arithmetics (Angles), over the angle kernel (kernels/angles_loop.h).
//
//   exact     the kernel with x = position, turns = inv_freq / 2 pi, the attention factor inside
//   float32   the kernel with x = f32(f32(position) * f32(inv_freq)), turns = 1 / 2 pi, rounded; then, in f32, times
//             the attention factor: the order of Hugging Face's rotary modules
//   bfloat16  the same, rounded to bfloat16 (nearest, ties to even)
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cpu/angles/turns.h"
#include "kernels/kernels.h"
#include "posenc/rotary_table.h"

namespace posenc::cpu {

// What rows of cos and sin follow from besides positions: frequencies, axes, attention factor, arithmetic. A
// RotaryTable without rows holds one (table_on_demand). The arguments are already checked (check_table.h). Immutable.
class AngleRule {
 public:
  // `axis_of_pair`: [pairs], or empty when the first axis rotates all pairs.
  AngleRule(std::span<const double> inv_freq, std::span<const std::int32_t> axis_of_pair, double factor, Angles angles);

  // Rows of `count` positions. Axis a of row t stands at positions[a * axis_stride + t].
  // cos and sin of row t go to cos + t * out_stride and sin + t * out_stride, [pairs] each.
  void write(const kernels::KernelTable& kernels, const double* positions, std::int64_t axis_stride, std::int64_t count,
             float* cos, float* sin, std::int64_t out_stride) const;

  // Beyond it, an angle would pass 2^53 radians or the position 2^53.
  double largest_position() const noexcept { return largest_position_; }

 private:
  // The general way, with an argument for each pair of each row.
  void write_by_pair(const kernels::KernelTable& kernels, const double* positions, std::int64_t axis_stride,
                     std::int64_t count, kernels::AngleRows& rows) const;
  void round(const kernels::AngleRows& rows) const;

  Angles angles_;
  double factor_;
  std::int64_t pairs_;
  std::vector<std::int32_t> axis_of_pair_;  // [pairs], or empty
  std::vector<float> inv_freq_;             // [pairs], float32 and bfloat16 only
  // Exact: of inv_freq. float32 and bfloat16: of 1 for each pair, since their arguments are angles already.
  Turns turns_;
  double largest_position_;
};

// The one axis that rotates every pair, or -1. Empty: the first.
std::int32_t only_axis(std::span<const std::int32_t> axis_of_pair);

// Positions that are converted, and rows that are written, at a time.
inline constexpr std::int64_t kBlockRows = 256;

// The nearest bfloat16, ties to even, as a float. Not for NaN.
float to_bfloat16(float x);

}  // namespace posenc::cpu
