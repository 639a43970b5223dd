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

inline constexpr std::int64_t kTablePiece = 512;  // channels of a task: 2 KiB of sums

// Sums of a piece of a row, over its tokens in their order: in f32 over kTokensInFloats of them, and those sums in
// double. Each element is one sum, whatever the pieces.
class PieceSums {
 public:
  static constexpr std::int64_t kTokensInFloats = 64;

  explicit PieceSums(const kernels::KernelTable& kernels) : kernels_(kernels) {}

  void begin(std::int64_t count);
  void add(const float* row);
  // To channels first .. of a row of d, rounded once.
  void write(const TensorView& d, std::int64_t row, std::int64_t first);

 private:
  void flush();

  const kernels::KernelTable& kernels_;
  std::int64_t count_ = 0;
  std::int64_t tokens_ = 0;  // in floats_
  bool is_flushed_ = false;  // some are in doubles_
  std::array<float, kTablePiece> floats_;
  std::array<double, kTablePiece> doubles_;
};

// Tasks among the call's threads, some at a time; on the calling one where a task takes memory, which may fail.
template <typename Body>
void share_tasks(const Parallel& parallel, std::int64_t count, std::int64_t grain, bool allocates, const Body& body) {
  if (allocates) return body(std::int64_t{0}, count);
  parallel_for(parallel, count, grain, [&](std::int64_t begin, std::int64_t end) noexcept { body(begin, end); });
}

// d [rows, channels] = sums over tokens of part(token, first, count, room): so many floats from channel `first` on, in
// `room` or elsewhere. may_go_on() is asked for each task.
template <typename Part, typename MayGoOn>
void write_table_gradient(const TensorView& d, const TokensByRow& tokens, const kernels::KernelTable& kernels,
                          const Parallel& parallel, bool allocates, const Part& part, const MayGoOn& may_go_on) {
  constexpr std::int64_t kNumbersAtOnce = 65536;  // what a thread takes at a time reads some 256 KiB
  const std::int64_t pieces = (d.shape[1] + kTablePiece - 1) / kTablePiece;
  const std::int64_t each = (std::ssize(tokens.token) / std::max<std::int64_t>(d.shape[0], 1) + 1) * kTablePiece;
  const std::int64_t grain = std::max<std::int64_t>(1, kNumbersAtOnce / each);
  share_tasks(parallel, d.shape[0] * pieces, grain, allocates, [&](std::int64_t begin, std::int64_t end) {
    PieceSums sums(kernels);
    std::array<float, kTablePiece> room;
    for (std::int64_t task = begin; task < end && may_go_on(); ++task) {
      const std::int64_t row = task / pieces;
      const std::int64_t first = task % pieces * kTablePiece;
      const std::int64_t count = std::min(kTablePiece, d.shape[1] - first);
      sums.begin(count);
      for (std::int64_t n = tokens.first[index(row)]; n < tokens.first[index(row + 1)]; ++n) {
        sums.add(part(tokens.token[index(n)], first, count, room.data()));
      }
      sums.write(d, row, first);
    }
  });
}

}  // namespace posenc::cpu
