// The attention mask: which keys a query sees, by the plan (causal, bidirectional, prefix, sliding window, chunks) and
// by the caller's attn_mask, which broadcasts.
//
//   window: -future <= i - j <= past      chunk: floor(i / c) = floor(j / c)      i, j by order in the sequence
#include "reference/mask.h"

#include <array>

#include "reference/elements.h"

namespace posenc::inline v0_2::reference {
namespace {

// Orders may be negative: more queries than keys put the first of them below 0.
std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// What the plan's mask lets query row.i see, attn_mask aside. All three parts (kind, window, chunk) must agree.
bool by_plan(const Row& row, std::int64_t j) {
  const Mask& mask = row.layer.mask;
  const std::int64_t i_order = row.sequence.q.order[index(row.i)];
  const std::int64_t j_order = row.sequence.k.order[index(j)];
  const bool is_past = j_order <= i_order;
  switch (mask.kind) {
    case MaskKind::causal:
      if (!is_past) return false;
      break;
    case MaskKind::prefix:
      if (!is_past && j_order >= row.args.inputs.prefix) return false;
      break;
    case MaskKind::bidirectional:
    case MaskKind::sparse: break;  // sparse: the caller says which (check_attend.cpp)
  }
  if (mask.window) {
    const std::int64_t distance = i_order - j_order;
    if (distance > mask.window->past || -distance > mask.window->future) return false;
  }
  return !mask.chunk || floor_divide(i_order, *mask.chunk) == floor_divide(j_order, *mask.chunk);
}

}  // namespace

double broadcast(const ConstTensorView& x, const Row& row, std::int64_t j) {
  // A batch has its own matrices; packed sequences lie in one, as their rows do.
  const bool is_packed = row.args.q.rank == 3;
  const std::array<std::int64_t, 4> place{row.sequence.batch, row.h, row.i + (is_packed ? row.sequence.q.first_row : 0),
                                          j + (is_packed ? row.sequence.k.first_row : 0)};
  std::int64_t offset = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (x.shape[a] != 1) offset += place[static_cast<std::size_t>(axis + 4 - x.rank)] * x.strides[a];
  }
  return read(x, offset);
}

bool is_visible(const Row& row, std::int64_t j) {
  if (!by_plan(row, j)) return false;
  return row.args.inputs.attn_mask.empty() || broadcast(row.args.inputs.attn_mask, row, j) != 0.0;
}

}  // namespace posenc::inline v0_2::reference
