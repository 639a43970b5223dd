// posenc attend calls attend for 1024 queries at a time, --check the reference for queries that are far apart: both are
// an EveryNth of the same call.
#include "attend/attend_call.h"

#include <cstddef>
#include <type_traits>

#include "posenc/reference.h"

namespace posenc::tool {
namespace {

// Rows of a batch, those of one sequence after the other.
std::vector<Row> rows_of(std::int64_t batch, const EveryNth& which) {
  std::vector<Row> rows;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t i = 0; i < which.count; ++i) rows.push_back({b, which.first + i * which.step});
  }
  return rows;
}

// No copy: a step between tokens is a larger stride.
template <typename View>
View taken(View x, int token_axis, const EveryNth& which) {
  const auto axis = static_cast<std::size_t>(token_axis);
  const std::int64_t skipped = which.first * x.strides[axis] * bytes_of(x.dtype);
  if constexpr (std::is_same_v<View, TensorView>) {
    x.data = static_cast<std::byte*>(x.data) + skipped;
  } else {
    x.data = static_cast<const std::byte*>(x.data) + skipped;
  }
  x.shape[axis] = which.count;
  x.strides[axis] *= which.step;
  return x;
}

}  // namespace

ConstTensorView some_tokens(ConstTensorView x, int token_axis, const EveryNth& which) {
  return taken(x, token_axis, which);
}
TensorView some_tokens(TensorView x, int token_axis, const EveryNth& which) { return taken(x, token_axis, which); }

QueryInputs::QueryInputs(const AttendCall& call, const EveryNth& which) {
  const std::vector<Row> rows = rows_of(call.batch(), which);
  inputs_.length = call.length;
  inputs_.q_rotated = call.q_rotated;
  inputs_.k_rotated = call.k_rotated;
  inputs_.log_forget = call.tables.log_forget;
  inputs_.k_segments = call.tables.k_segments;
  if (call.q_positions) inputs_.q_positions = view(q_positions_ = call.q_positions->of(rows));
  if (call.k_positions) {
    inputs_.k_positions = view(k_positions_ = call.k_positions->of(rows_of(call.batch(), {.count = call.keys()})));
  }
  // The last query stands with the last key: of all queries that needs no saying.
  if (which.count != call.queries()) {
    for (const Row& row : rows) q_order_.push_back(call.keys() - call.queries() + row.token);
    inputs_.q_order = q_order_;
  }
  // The last two axes are queries and keys; one row of queries may serve all.
  if (const ConstTensorView& visible = call.attn_mask; !visible.empty()) {
    const int axis = visible.rank - 2;
    const bool is_shared = visible.shape[static_cast<std::size_t>(axis)] == 1;
    inputs_.attn_mask = is_shared ? visible : some_tokens(visible, axis, which);
  }
  // [rows, heads], rows as in rows_of: gathered, since with a batch no stride leads from sequence to sequence.
  if (const ConstTensorView& gate = call.tables.row_gate; !gate.empty() && gate.rank == 2) {
    for (const Row& row : rows) {
      for (std::int64_t h = 0; h < gate.shape[1]; ++h) {
        row_gate_.push_back(reference::element(gate, {row.sequence * call.queries() + row.token, h}));
      }
    }
    inputs_.row_gate = tensor(row_gate_.data(), {std::ssize(rows), gate.shape[1]});
  }
  // Of another length they are left as they are, for attend to refuse.
  inputs_.q_segments = call.tables.q_segments;
  if (which.count != call.queries() && std::ssize(inputs_.q_segments) == call.batch() * call.queries()) {
    for (const Row& row : rows) {
      const auto at = static_cast<std::size_t>(row.sequence * call.queries() + row.token);
      q_segments_.push_back(call.tables.q_segments[at]);
    }
    inputs_.q_segments = q_segments_;
  }
}

}  // namespace posenc::tool
