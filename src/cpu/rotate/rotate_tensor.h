// RoPE on some rows of one tensor: chooses the order of its rows and heads, follows the pages of a KV cache, keeps the
// channels that are not rotated. The kernel is kernels/rotate_loop.h.
#pragma once

#include <cstdint>

#include "cpu/rotate/check_rotate.h"
#include "kernels/kernels.h"
#include "posenc/rotate.h"

namespace posenc::cpu {

// From so much memory on, lines are fetched ahead: L2 does not hold them.
inline constexpr std::int64_t kFetchFromBytes = std::int64_t{1} << 20U;

// cos and sin of the rows, and what they are multiplied with.
struct RowAngles {
  const float* const* cos = nullptr;  // [count], each to [pairs]
  std::int64_t sin_offset = 0;
  float cos_scale = 1.0F;
  float sin_scale = 1.0F;
};

// `count` rows of a tensor, the first of them at from and to.
//
// fetch_end is a parameter for GCC's sake: of a struct with one constant member it clears the whole, by `rep stos`,
// before it writes the others, at 15 ns of a call on one token.
inline kernels::RotateRows rows_of(const HeadsView& x, const RotaryLayout& layout, std::int64_t count,
                                   const RowAngles& angles, const void* from, void* to, const void* fetch_end) {
  const std::int64_t bytes = layout.first_channel * x.element_bytes;
  return {
      .element = x.element,
      .rows = count,
      .heads = x.heads,
      .pairs = layout.pairs(),
      .partner = layout.pairing == Pairing::half ? layout.pairs() : 0,
      .cos = angles.cos,
      .sin_offset = angles.sin_offset,
      .cos_scale = angles.cos_scale,
      .sin_scale = angles.sin_scale,
      .from = static_cast<const char*>(from) + bytes,
      .from_row = x.from_strides.row,
      .from_head = x.from_strides.head,
      .to = static_cast<char*>(to) + bytes,
      .to_row = x.to_strides.row,
      .to_head = x.to_strides.head,
      .fetch_end = fetch_end,
  };
}

class TensorRotation {
 public:
  TensorRotation(const RotateArgs& args, const RotateCall& call, const kernels::KernelTable& kernels);

  // What the call writes.
  std::int64_t bytes() const noexcept { return bytes_; }

  // Rows first .. first + count - 1 of a sequence, counted within it, of every tensor of the call.
  void rotate(std::int64_t sequence, std::int64_t first, std::int64_t count, const RowAngles& angles) const;

 private:
  // Of one tensor; rotate_pages and rotate_rows are its two ways on, copy_kept is for rotations into another tensor.
  void rotate_tensor(const HeadsView& x, std::int64_t sequence, std::int64_t first, std::int64_t count,
                     const RowAngles& angles) const;
  void rotate_pages(const HeadsView& x, std::int64_t sequence, std::int64_t first, kernels::RotateRows rows) const;
  void rotate_rows(const HeadsView& x, const kernels::RotateRows& rows) const;
  void copy_kept(const HeadsView& x, const kernels::RotateRows& rows) const;

  const RotateArgs& args_;
  const RotateCall& call_;
  const kernels::KernelTable& kernels_;
  const RotaryLayout& layout_;
  // Of the channels that rotate, of all rows and heads of q and k.
  std::int64_t bytes_ = 0;
  bool fetch_ = false;  // lines ahead of use
};

}  // namespace posenc::cpu
