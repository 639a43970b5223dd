// The rows of a call, divided among threads and cut at the ends of sequences: each run has one table, one first
// position and, in a paged cache, one block table.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/parallel.h"
#include "cpu/rotate/check_rotate.h"

namespace posenc::cpu {

// Bytes of tensors that are worth a thread: handing them over costs a microsecond, rotating them two. With 64 KiB each,
// two threads took 1.07 of one's time (docs/performance.md).
inline constexpr std::int64_t kBytesOfAThread = 80 * 1024;

// The sequence that row `row`, counted through the batch, belongs to.
inline std::int64_t sequence_of(const RotateArgs& args, const RotateCall& call, std::int64_t row) {
  if (args.cu_seqlens.empty()) return row_of_batch(call, row).member;
  return std::ranges::upper_bound(args.cu_seqlens, row) - args.cu_seqlens.begin() - 1;
}

// Calls run(sequence, first, count) for runs of at most `step` rows that together are rows begin .. end - 1; `first`
// counts within the sequence.
template <typename Run>
void for_runs(const RotateArgs& args, const RotateCall& call, std::int64_t begin, std::int64_t end, std::int64_t step,
              const Run& run) {
  for (std::int64_t s = sequence_of(args, call, begin); begin < end; ++s) {
    const Sequence rows = sequence(args, call, s);
    const std::int64_t stop = std::min(end, rows.first + rows.count);
    for (; begin < stop; begin += step) run(s, begin - rows.first, std::min(step, stop - begin));
    begin = stop;
  }
}

// What the call writes for a row.
inline std::int64_t bytes_of_row(const RotateCall& call, std::int64_t bytes) {
  return bytes / std::max<std::int64_t>(1, call.batch * call.rows);
}

// Calls body(begin, end) for parts of all rows, on the threads that the caller allows, or for all rows here.
template <typename Body>
void for_parts(const RotateArgs& args, const RotateCall& call, std::int64_t bytes, bool here, const Body& body) {
  const std::int64_t rows = call.batch * call.rows;
  if (here || bytes < 2 * kBytesOfAThread) return body(std::int64_t{0}, rows);
  const std::int64_t grain =
      std::max<std::int64_t>(1, kBytesOfAThread / std::max<std::int64_t>(1, bytes_of_row(call, bytes)));
  parallel_for(args.parallel, rows, grain, [&](std::int64_t begin, std::int64_t end) noexcept { body(begin, end); });
}

}  // namespace posenc::cpu
