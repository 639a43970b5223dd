// One tensor of a call of rotate, by runs of rows: rows outside and heads inside, or the reverse, whichever is nearer
// in memory; pages of a KV cache one after another; channels that are not rotated copied where the output is elsewhere.
#include "cpu/rotate/rotate_tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace posenc::cpu {
namespace {

const void* advanced(const void* p, std::int64_t bytes) { return static_cast<const char*>(p) + bytes; }
void* advanced(void* p, std::int64_t bytes) { return static_cast<char*>(p) + bytes; }

}  // namespace

// All tables of a call rotate the same channels (check_rotate.cpp), so the first one's layout is everybody's.
TensorRotation::TensorRotation(const RotateArgs& args, const RotateCall& call, const kernels::KernelTable& kernels)
    : args_(args), call_(call), kernels_(kernels), layout_(table_of(args, 0).layout()) {
  for (const HeadsView& x : call.tensors) bytes_ += call.batch * call.rows * x.heads * layout_.dim * x.element_bytes;
  fetch_ = kernels.fetches_ahead && bytes_ >= kFetchFromBytes;
}

void TensorRotation::rotate(std::int64_t sequence, std::int64_t first, std::int64_t count,
                            const RowAngles& angles) const {
  for (const HeadsView& x : call_.tensors) {
    if (x.from != nullptr) rotate_tensor(x, sequence, first, count, angles);
  }
}

// Some rows of q or of k: where they begin in memory, then by pages or at once.
void TensorRotation::rotate_tensor(const HeadsView& x, std::int64_t s, std::int64_t first, std::int64_t count,
                                   const RowAngles& angles) const {
  const RowOfBatch at = row_of_batch(call_, x.block_size > 0 ? 0 : sequence(args_, call_, s).first + first);
  const auto start = [&](const HeadsView::Strides& strides) {
    return (at.member * strides.batch + at.row * strides.row) * x.element_bytes;
  };
  const kernels::RotateRows rows = rows_of(x, layout_, count, angles, advanced(x.from, start(x.from_strides)),
                                           advanced(x.to, start(x.to_strides)), nullptr);
  if (x.block_size > 0) {
    rotate_pages(x, s, first, rows);
  } else {
    rotate_rows(x, rows);
  }
}

// One run of rows within one block after another.
void TensorRotation::rotate_pages(const HeadsView& x, std::int64_t s, std::int64_t first,
                                  kernels::RotateRows rows) const {
  std::int64_t token = first_token(args_.k_pages, s) + first;
  std::int64_t left = rows.rows;
  void* const cache = rows.to;
  while (left > 0) {
    const std::int64_t place = token % x.block_size;
    const std::int64_t block = block_of(args_.k_pages, call_.sequences, s, token / x.block_size);
    rows.rows = std::min(left, x.block_size - place);
    rows.to = advanced(cache, (block * x.to_strides.batch + place * x.to_strides.row) * x.element_bytes);
    rows.from = rows.to;
    rotate_rows(x, rows);
    token += rows.rows;
    left -= rows.rows;
    rows.cos += rows.rows;
  }
}

// One call of the kernel. Prefetching pays where the tensor comes from memory (kFetchFromBytes).
void TensorRotation::rotate_rows(const HeadsView& x, const kernels::RotateRows& rows) const {
  if (x.to != x.from) copy_kept(x, rows);
  kernels::RotateRows ahead = rows;
  if (fetch_) {
    // The rows after these are next, so what is fetched beyond them is used: but not where heads are outside.
    const bool is_used = std::abs(rows.from_head) <= std::abs(rows.from_row);
    const std::int64_t unused = is_used ? 0 : kernels::kFetchAheadBytes;
    ahead.fetch_end = advanced(rows.from, rows.rows * rows.from_row * x.element_bytes - unused);
  }
  kernels_.rotate(ahead);
}

// Channels before and after those that rotate.
void TensorRotation::copy_kept(const HeadsView& x, const kernels::RotateRows& rows) const {
  const std::int64_t before = layout_.first_channel * x.element_bytes;
  const std::int64_t rotated = layout_.dim * x.element_bytes;
  const std::int64_t after = layout_.head_dim * x.element_bytes - before - rotated;
  if (before + after == 0) return;
  for (std::int64_t t = 0; t < rows.rows; ++t) {
    for (std::int64_t h = 0; h < rows.heads; ++h) {
      const void* const from = advanced(rows.from, (t * rows.from_row + h * rows.from_head) * x.element_bytes);
      void* const to = advanced(rows.to, (t * rows.to_row + h * rows.to_head) * x.element_bytes);
      std::memcpy(advanced(to, -before), advanced(from, -before), static_cast<std::size_t>(before));
      std::memcpy(advanced(to, rotated), advanced(from, rotated), static_cast<std::size_t>(after));
    }
  }
}

}  // namespace posenc::cpu
