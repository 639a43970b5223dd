// Turns some rows of one tensor: chooses the order of its rows and heads, follows pages, keeps the other channels.
#pragma once

#include <cstdint>

#include "cpu/check_rotate.h"
#include "kernels/kernels.h"
#include "posenc/rotate.h"

namespace posenc::cpu {

// cos and sin of the rows, and what they are multiplied with.
struct RowAngles {
  const float* const* cos = nullptr;  // [count], each to [pairs]
  std::int64_t sin_offset = 0;
  float cos_scale = 1.0F;
  float sin_scale = 1.0F;
};

class TensorRotation {
 public:
  TensorRotation(const RotateArgs& args, const RotateCall& call, const kernels::KernelTable& kernels);

  // What the call writes.
  std::int64_t bytes() const noexcept { return bytes_; }

  // Rows first .. first + count - 1 of a sequence, counted within it, of every tensor of the call.
  void turn(std::int64_t sequence, std::int64_t first, std::int64_t count, const RowAngles& angles) const;

 private:
  void turn_tensor(const HeadsView& x, std::int64_t sequence, std::int64_t first, std::int64_t count,
                   const RowAngles& angles) const;
  void turn_pages(const HeadsView& x, std::int64_t sequence, std::int64_t first, kernels::RotateRows rows) const;
  void turn_rows(const HeadsView& x, const kernels::RotateRows& rows) const;
  void turn_by_head(const HeadsView& x, kernels::RotateRows rows) const;
  void copy_kept(const HeadsView& x, const kernels::RotateRows& rows) const;

  const RotateArgs& args_;
  const RotateCall& call_;
  const kernels::KernelTable& kernels_;
  const RotaryLayout& layout_;
  std::int64_t bytes_ = 0;
  bool fetch_ = false;  // lines ahead of use
};

}  // namespace posenc::cpu
