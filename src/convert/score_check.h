// Scores before and after: whether q.k of the rows as they were, rotated by the one pairing, is q.k of the rows as they
// are now, rotated by the other, for random inputs and random angles.
//
//   q_c = (sum x_j W_cj + b_c) w_c,   sum over channels of rotate(q)_c rotate(k)_c
//
// with W the projection's rows, b its bias, w what multiplies (a norm's weights, a row's scale), x random numbers.
// The angle of each pair is drawn by itself, since the relation holds at every position, and at one position slow pairs
// hardly turn. Rows of blocks, of 8 bits and less, and rows with a NaN or an infinity stand for what is made of their
// bytes: the relation holds for any function of rows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "convert/copy_rows.h"
#include "convert/row_moves.h"
#include "io/tensors/open_tensor_file.h"
#include "posenc/error.h"

namespace posenc::conversion {

struct CheckedScores {
  std::int64_t heads = 0;   // pairs of a query head and its KV head
  double difference = 0.0;  // the largest, over the sum of the terms' magnitudes
  double bound = 0.0;       // of that difference, by the rounding of the sums
};

// The bytes that the check reads, for a progress bar.
std::int64_t bytes_to_check(const RowMoves& moves);

// Both files have the same tensors, each at its own places. Some heads of each attention; `keep_going` is asked after
// each. A score that differs by more than rounding is an error of `after`. A module without keys (LoRA, a shared KV
// cache) is judged by its queries alone, which stand for both.
Result<CheckedScores> check_scores(const io::OpenTensorFile& before, const io::OpenTensorFile& after,
                                   const RowMoves& moves, Pairings pairings,
                                   const std::function<bool(std::int64_t bytes)>& keep_going);

}  // namespace posenc::conversion
