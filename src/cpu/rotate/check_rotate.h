// A call of rotate, checked: what remains is pointers, sizes and strides. plain_call.h makes the same of the calls that
// need few checks.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "cpu/call/heads_view.h"
#include "posenc/rotate.h"

namespace posenc::cpu {

// Of RotateArgs after the checks. Positions, tables and pages are still read from the args.
struct RotateCall {
  std::array<HeadsView, 2> tensors;  // q, k
  std::int64_t batch = 0;
  std::int64_t rows = 0;          // of each member of the batch
  std::int64_t sequences = 0;     // the batch, or what is packed
  bool shared_positions = false;  // one row of positions serves every sequence of the batch
  std::int64_t axis_stride = 0;   // between the positions of two axes

  // Whether no element is rotated.
  bool nothing() const noexcept {
    return batch * rows == 0 || (tensors[0].from == nullptr && tensors[1].from == nullptr);
  }
};

// Throws Error "[where] ..." for whatever does not fit. Messages call tables and positions by their names with `side`
// before them.
RotateCall check_rotate(std::string_view where, const RotateArgs& args, std::string_view side = "");

// A row, counted through the batch, and where it stands. The first member needs no division, which takes 15 ns.
struct RowOfBatch {
  std::int64_t member;
  std::int64_t row;
};
inline RowOfBatch row_of_batch(const RotateCall& call, std::int64_t row) noexcept {
  if (row < call.rows) return {0, row};
  return {row / call.rows, row % call.rows};
}

// The rows of sequence s, counted through the batch.
struct Sequence {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
Sequence sequence(const RotateArgs& args, const RotateCall& call, std::int64_t s) noexcept;

const RotaryTable& table_of(const RotateArgs& args, std::int64_t s) noexcept;

// The token at which the rows of sequence s begin, and the block in which the n-th block of its tokens is; -1: none.
std::int64_t first_token(const Pages& pages, std::int64_t s) noexcept;
std::int64_t block_of(const Pages& pages, std::int64_t sequences, std::int64_t s, std::int64_t n) noexcept;

}  // namespace posenc::cpu
