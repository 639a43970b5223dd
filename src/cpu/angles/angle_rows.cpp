// Rows of cos and sin in exact, float32 and bfloat16 arithmetic: prepares the kernel's arguments (kernels::AngleRows),
// one axis for all pairs or one for each (M-RoPE), and rounds afterwards where a framework would.
#include "cpu/angles/angle_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cpu/angles/check_table.h"
#include "cpu/attend/scratch.h"

namespace posenc::cpu {
namespace {

// Arguments of the kernel that are made at a time when they differ from pair to pair: 32 KiB, inside L1.
constexpr std::int64_t kArguments = 4096;

}  // namespace

std::int32_t only_axis(std::span<const std::int32_t> axis_of_pair) {
  if (axis_of_pair.empty()) return 0;
  const bool same = std::ranges::all_of(axis_of_pair, [&](std::int32_t a) { return a == axis_of_pair.front(); });
  return same ? axis_of_pair.front() : -1;
}

// Half a unit of the upper 16 bits is added, less one where the lowest of them is even, and the lower 16 are cut off.
float to_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t even = (bits >> 16U) & 1U;
  return std::bit_cast<float>((bits + 0x7FFFU + even) & 0xFFFF0000U);
}

// A frequency of 0 divides to infinity, which is no limit.
AngleRule::AngleRule(std::span<const double> inv_freq, std::span<const std::int32_t> axis_of_pair, double factor,
                     Angles angles)
    : angles_(angles),
      factor_(factor),
      pairs_(std::ssize(inv_freq)),
      axis_of_pair_(axis_of_pair.begin(), axis_of_pair.end()),
      largest_position_(kLargest) {
  for (const double f : inv_freq) largest_position_ = std::min(largest_position_, kLargest / std::abs(f));
  if (angles == Angles::exact) {
    turns_ = turns(inv_freq);
    return;
  }
  for (const double f : inv_freq) inv_freq_.push_back(static_cast<float>(f));
  turns_ = turns(std::vector<double>(inv_freq.size(), 1.0));
}

// Exact angles of one axis go to the kernel as they are: one position for each row.
void AngleRule::write(const kernels::KernelTable& kernels, const double* positions, std::int64_t axis_stride,
                      std::int64_t count, float* cos, float* sin, std::int64_t out_stride) const {
  kernels::AngleRows rows{
      .rows = count,
      .pairs = pairs_,
      .near_limit = turns_.near_limit,
      .hi = turns_.hi.data(),
      .lo = turns_.lo.data(),
      .lowest = turns_.lowest.data(),
      .factor = angles_ == Angles::exact ? factor_ : 1.0,
      .cos = cos,
      .sin = sin,
      .out_stride = out_stride,
  };
  const std::int32_t axis = only_axis(axis_of_pair_);
  if (angles_ == Angles::exact && axis >= 0) {
    rows.x = positions + axis * axis_stride;
    rows.x_stride = 1;
    kernels.angles(rows);
  } else {
    write_by_pair(kernels, positions, axis_stride, count, rows);
  }
}

// Several axes (M-RoPE), or float32 arithmetic, whose rounded angle differs from pair to pair: one argument for each
// pair.
void AngleRule::write_by_pair(const kernels::KernelTable& kernels, const double* positions, std::int64_t axis_stride,
                              std::int64_t count, kernels::AngleRows& rows) const {
  const std::int64_t step = std::clamp<std::int64_t>(kArguments / pairs_, 1, std::max<std::int64_t>(count, 1));
  Scratch<double, kArguments> x(step * pairs_);
  rows.x = x.data();
  rows.x_stride = pairs_;
  rows.per_pair = true;
  for (std::int64_t first = 0; first < count; first += step) {
    rows.rows = std::min(step, count - first);
    for (std::int64_t t = 0; t < rows.rows; ++t) {
      for (std::int64_t p = 0; p < pairs_; ++p) {
        const auto pair = static_cast<std::size_t>(p);
        const std::int64_t axis = axis_of_pair_.empty() ? 0 : axis_of_pair_[pair];
        const double position = positions[axis * axis_stride + first + t];
        x.data()[t * pairs_ + p] =
            angles_ == Angles::exact ? position : static_cast<double>(static_cast<float>(position) * inv_freq_[pair]);
      }
    }
    kernels.angles(rows);
    if (angles_ != Angles::exact) round(rows);
    rows.cos += step * rows.out_stride;
    rows.sin += step * rows.out_stride;
  }
}

// What a framework does after cos and sin: times the attention factor in f32, then to bfloat16 for bf16 models.
void AngleRule::round(const kernels::AngleRows& rows) const {
  const auto factor = static_cast<float>(factor_);
  for (float* const out : {rows.cos, rows.sin}) {
    for (std::int64_t t = 0; t < rows.rows; ++t) {
      for (float& value : std::span(out + t * rows.out_stride, static_cast<std::size_t>(pairs_))) {
        value *= factor;
        if (angles_ == Angles::bfloat16) value = to_bfloat16(value);
      }
    }
  }
}

}  // namespace posenc::cpu
