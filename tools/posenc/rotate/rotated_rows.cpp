// RoPE in pieces of some 8 MiB, whole sequences or parts of one, so that progress can be shown between them.
#include "rotate/rotated_rows.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "posenc/rotary_table.h"
#include "posenc/rotate.h"

namespace posenc::tool {
namespace {

// A piece takes some milliseconds: long against what a call costs, short for who waits.
constexpr std::int64_t kPieceBytes = std::int64_t{8} << 20;

// Rows of one call: all these tokens of all these sequences.
struct Piece {
  std::int64_t first_sequence, sequences;
  std::int64_t first_token, tokens;
};

std::int64_t row_bytes(const TensorView& x) { return row_values(x) * bytes_of(x.dtype); }

// A piece is a rectangle, as rotate takes it: never the end of one sequence and the start of the next.
// Whole sequences, or where one is longer than a piece, parts of it.
std::vector<Piece> pieces_of(std::int64_t batch, std::int64_t tokens, std::int64_t bytes_per_row) {
  if (tokens == 0) return {};
  const std::int64_t rows = std::max<std::int64_t>(1, kPieceBytes / std::max<std::int64_t>(1, bytes_per_row));
  const std::int64_t tokens_each = std::min(rows, tokens);
  const std::int64_t sequences_each = tokens_each < tokens ? 1 : std::max<std::int64_t>(1, rows / tokens);
  std::vector<Piece> pieces;
  for (std::int64_t b = 0; b < batch; b += sequences_each) {
    for (std::int64_t t = 0; t < tokens; t += tokens_each) {
      pieces.push_back({b, std::min(sequences_each, batch - b), t, std::min(tokens_each, tokens - t)});
    }
  }
  return pieces;
}

// Rank 3 is [tokens, heads, head_dim], rank 4 [batch, heads, tokens, head_dim].
TensorView part_of(TensorView x, const Piece& piece) {
  if (x.empty()) return x;
  const std::size_t token_axis = x.rank == 3 ? 0 : 2;
  std::int64_t offset = piece.first_token * x.strides[token_axis];
  x.shape[token_axis] = piece.tokens;
  if (x.rank == 4) {
    offset += piece.first_sequence * x.strides[0];
    x.shape[0] = piece.sequences;
  }
  x.data = static_cast<std::byte*>(x.data) + offset * bytes_of(x.dtype);
  return x;
}

// In the order in which rotate takes positions: tokens fastest.
std::vector<Row> rows_of(const Piece& piece) {
  std::vector<Row> rows;
  rows.reserve(static_cast<std::size_t>(piece.sequences * piece.tokens));
  for (std::int64_t b = 0; b < piece.sequences; ++b) {
    for (std::int64_t t = 0; t < piece.tokens; ++t) {
      rows.push_back({piece.first_sequence + b, piece.first_token + t});
    }
  }
  return rows;
}

// Either tells batch and tokens: they were checked to agree (check_together).
const TensorView& any_of(const RotatedTensors& tensors) { return tensors.q.empty() ? tensors.k : tensors.q; }

}  // namespace

std::int64_t batch_of(const RotatedTensors& tensors) {
  const TensorView& x = any_of(tensors);
  return x.rank == 4 ? x.shape[0] : 1;
}

std::int64_t tokens_of(const RotatedTensors& tensors) {
  const TensorView& x = any_of(tensors);
  return x.shape[x.rank == 4 ? 2 : 0];
}

std::int64_t row_values(const TensorView& x) {
  if (x.empty()) return 0;
  return x.shape[1] * x.shape[static_cast<std::size_t>(x.rank - 1)];  // heads, head_dim
}

void rotate_rows(const RotatedTensors& tensors, const RotationAsked& rotation, const RowPositions& positions,
                 const std::function<void(std::int64_t rows, std::int64_t all)>& done, const RotatedWith& with) {
  const RotaryTable table =
      table_on_demand(rotation.rope, {.length = rotation.length, .angles = rotation.angles, .isa = with.isa});
  const std::int64_t batch = batch_of(tensors);
  const std::int64_t tokens = tokens_of(tensors);
  std::int64_t rotated = 0;
  for (const Piece& piece : pieces_of(batch, tokens, row_bytes(tensors.q) + row_bytes(tensors.k))) {
    const RowPositions::List list = positions.of(rows_of(piece));
    // Without keep_going it is never cancelled.
    (void)rotate({.q = part_of(tensors.q, piece),
                  .k = part_of(tensors.k, piece),
                  .positions = view(list),
                  .table = &table,
                  .direction = rotation.direction,
                  .parallel = with.parallel,
                  .isa = with.isa});
    rotated += piece.sequences * piece.tokens;
    done(rotated, batch * tokens);
  }
}

}  // namespace posenc::tool
