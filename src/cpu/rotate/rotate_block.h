// cos and sin of a few rows of tensors: pointers into a table, or rows made here by the angle kernel. One of these
// serves one thread.
#pragma once

#include <array>
#include <cstdint>

#include "cpu/attend/scratch.h"
#include "cpu/rotate/check_rotate.h"
#include "kernels/kernels.h"
#include "posenc/rotate.h"

namespace posenc::cpu {

class RotateBlock {
 public:
  static constexpr std::int64_t kRows = 64;
  static constexpr std::int64_t kValues = 4096;  // cos and sin together, 16 KiB: they stay in L1

  RotateBlock(const RotateArgs& args, const RotateCall& call, const kernels::KernelTable& kernels);

  // Whether one takes memory from the heap: heads and axes beyond those of any known model.
  static bool allocates(const RotateArgs& args) noexcept;

  // Rows at a time: at most kRows, fewer where the rows that are made here are long.
  std::int64_t rows() const noexcept { return rows_; }

  // Rows first .. first + count - 1 of a sequence, counted within it; count <= rows().
  void fill(std::int64_t sequence, std::int64_t first, std::int64_t count);

  const float* const* cos() const noexcept { return cos_.data(); }  // [count], each to [pairs]; sin follows it

 private:
  // Axes whose positions fit the stack; a layout with more takes memory from the heap.
  static constexpr std::int64_t kAxes = 4;

  // `position(axis, row)` gives the coordinates, whichever form the caller has listed them in.
  template <typename PositionOf>
  void fill_from(const RotaryTable& table, const PositionOf& position, std::int64_t count);

  const RotateArgs& args_;
  const RotateCall& call_;
  const kernels::KernelTable& kernels_;
  std::int64_t pairs_;
  std::int64_t axes_;
  // The axis of all pairs, or -1: only then are rows of a held table gathered pair by pair.
  std::int32_t only_axis_;
  std::int64_t rows_;
  std::array<const float*, kRows> cos_;
  Scratch<float, kValues> made_;
  Scratch<double, kAxes * kRows> positions_;  // [axes, kRows]
};

}  // namespace posenc::cpu
