// The caller's attn_mask and additive bias beside a tile: [queries, keys] up to rank 4, broadcast along axes of 1, any
// dtype and strides, and whether a tile is visible to any lane at all.
#include "cpu/attend/matrix_rows.h"

#include <algorithm>
#include <limits>

#include "cpu/call/heads_view.h"
#include "cpu/call/row_floats.h"
#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

float rounded(double x) {
  const auto out = static_cast<float>(x);
  return out == 0.0F && x != 0.0 ? std::numeric_limits<float>::min() : out;  // a denormal may count as 0
}

std::int64_t last_axis(const ConstTensorView& x) { return x.rank - 1; }

}  // namespace

// Keys of a batch are counted within their sequence, packed ones through the call.
MatrixRows::MatrixRows(const AttendCall& call, const ConstTensorView& x, const LaneBlock& block, const KeyTile& tile)
    : call_(call), x_(x), block_(block), keys_(tile.count()) {
  const bool is_batch = call.args.q.rank == 4;
  first_key_ = is_batch ? tile.row(0) % call.args.k.shape[2] : tile.row(0);
  key_step_ = x.shape[index(last_axis(x))] == 1 ? 0 : x.strides[index(last_axis(x))];
}

// The element of the tile's first key, as a vector along the keys.
ConstTensorView MatrixRows::from_lane(std::int64_t lane) const {
  const Lane& own = block_.lane[index(lane)];
  const std::array<std::int64_t, 4> place{own.row / call_.q.tokens, own.head, own.row % call_.q.tokens, first_key_};
  std::int64_t offset = 0;
  for (int axis = 0; axis < x_.rank; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (x_.shape[a] != 1) offset += place[static_cast<std::size_t>(axis + 4 - x_.rank)] * x_.strides[a];
  }
  return {.data = static_cast<const char*>(x_.data) + offset * bytes_of(x_.dtype),
          .dtype = x_.dtype,
          .rank = 1,
          .shape = {keys_},
          .strides = {key_step_}};
}

// In the caller's memory where that is possible, converted at once where elements are adjacent, else one by one.
const float* MatrixRows::of_lane(std::int64_t lane) {
  const ConstTensorView row = from_lane(lane);
  const bool lies_together = key_step_ == 1 && row.dtype != DType::f64 && is_aligned(row);
  if (lies_together && row.dtype == DType::f32) return static_cast<const float*>(row.data);
  if (lies_together) {
    read_floats(call_.kernels, element_of(row.dtype), row.data, keys_, floats_.data());
  } else {
    for (std::int64_t m = 0; m < keys_; ++m) floats_[index(m)] = rounded(read(row, {m}));
  }
  return floats_.data();
}

bool shows_any(const AttendCall& call, const LaneBlock& block, const KeyTile& tile) {
  const ConstTensorView& visible = call.args.inputs.attn_mask;
  if (visible.empty()) return true;
  MatrixRows rows(call, visible, block, tile);
  for (std::int64_t l = 0; l < block.used; ++l) {
    const float* const row = rows.of_lane(l);
    if (std::count(row, row + tile.count(), 0.0F) < tile.count()) return true;
  }
  return false;
}

}  // namespace posenc::cpu
