// Gradients of a learned table: each row the sum of what its tokens give, in their order, whoever does it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/parallel.h"
#include "cpu/lower/weight_reader.h"
#include "kernels/kernels.h"
#include "posenc/parallel.h"
#include "posenc/tensor.h"

namespace posenc::cpu {

// The tokens of each row, in their order: those of row r are token[first[r]] up to token[first[r + 1]].
struct TokensByRow {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> token;
};
// `rows`: of each token, below `count`.
TokensByRow tokens_by_row(const std::vector<std::int64_t>& rows, std::int64_t count);

inline constexpr std::int64_t kTablePiece = 256;  // channels of a task: 2 KiB of sums

// Channels first .. first + count - 1 of a row of d.
void write_sums(const TensorView& d, std::int64_t row, std::int64_t first, std::int64_t count,
                const kernels::KernelTable& kernels, const double* sums);

// Tasks among the call's threads, some at a time; on the calling one where a task takes memory, which may fail.
template <typename Body>
void share_tasks(const Parallel& parallel, std::int64_t count, std::int64_t grain, bool allocates, const Body& body) {
  if (allocates) return body(std::int64_t{0}, count);
  parallel_for(parallel, count, grain, [&](std::int64_t begin, std::int64_t end) noexcept { body(begin, end); });
}

// d [rows, channels] = sums over tokens of part(token, first, count, to), which writes so many channels from the first
// on to `to`; in double. may_go_on() is asked for each task.
template <typename Part, typename MayGoOn>
void write_table_gradient(const TensorView& d, const TokensByRow& tokens, const kernels::KernelTable& kernels,
                          const Parallel& parallel, bool allocates, const Part& part, const MayGoOn& may_go_on) {
  constexpr std::int64_t kNumbersAtOnce = 65536;  // what a thread takes at a time reads some 256 KiB
  const std::int64_t pieces = (d.shape[1] + kTablePiece - 1) / kTablePiece;
  const std::int64_t each = (std::ssize(tokens.token) / std::max<std::int64_t>(d.shape[0], 1) + 1) * kTablePiece;
  const std::int64_t grain = std::max<std::int64_t>(1, kNumbersAtOnce / each);
  share_tasks(parallel, d.shape[0] * pieces, grain, allocates, [&](std::int64_t begin, std::int64_t end) {
    std::array<double, kTablePiece> sums;
    std::array<float, kTablePiece> floats;
    for (std::int64_t task = begin; task < end && may_go_on(); ++task) {
      const std::int64_t row = task / pieces;
      const std::int64_t first = task % pieces * kTablePiece;
      const std::int64_t count = std::min(kTablePiece, d.shape[1] - first);
      sums.fill(0.0);
      for (std::int64_t n = tokens.first[index(row)]; n < tokens.first[index(row + 1)]; ++n) {
        part(tokens.token[index(n)], first, count, floats.data());
        for (std::int64_t c = 0; c < count; ++c) sums[index(c)] += static_cast<double>(floats[index(c)]);
      }
      write_sums(d, row, first, count, kernels, sums.data());
    }
  });
}

}  // namespace posenc::cpu
