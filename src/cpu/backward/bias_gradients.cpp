// Adds to a matrix of queries and keys, or to one that is broadcast, where MatrixRows (attend/matrix_rows.h) reads it.
#include "cpu/backward/bias_gradients.h"

#include <array>

#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {

void add_to(const TensorView& x, std::int64_t offset, double by) {
  if (x.dtype == DType::f64) {
    static_cast<double*>(x.data)[offset] += by;
  } else {
    static_cast<float*>(x.data)[offset] += static_cast<float>(by);
  }
}

void clear(const TensorView& x) {
  std::array<std::int64_t, kMaxRank> place{};
  std::int64_t count = x.empty() ? 0 : 1;
  for (int axis = 0; axis < x.rank; ++axis) count *= x.shape[index(axis)];
  for (; count > 0; --count) {
    std::int64_t offset = 0;
    for (int axis = 0; axis < x.rank; ++axis) offset += place[index(axis)] * x.strides[index(axis)];
    if (x.dtype == DType::f64) {
      static_cast<double*>(x.data)[offset] = 0.0;
    } else {
      static_cast<float*>(x.data)[offset] = 0.0F;
    }
    for (int axis = x.rank; axis-- > 0;) {
      if (++place[index(axis)] < x.shape[index(axis)]) break;
      place[index(axis)] = 0;
    }
  }
}

void add_to_bias(const AttendCall& call, const TensorView& x, const LaneBlock& block, const KeyTile& tile,
                 const float* d) {
  const std::int64_t first_key = call.args.q.rank == 4 ? tile.row(0) % call.args.k.shape[2] : tile.row(0);
  const std::size_t last = index(x.rank - 1);
  const std::int64_t key_step = x.shape[last] == 1 ? 0 : x.strides[last];
  for (std::int64_t l = 0; l < block.used; ++l) {
    const Lane& own = block.lane[index(l)];
    const std::array<std::int64_t, 4> place{own.row / call.q.tokens, own.head, own.row % call.q.tokens, first_key};
    std::int64_t offset = 0;
    for (int axis = 0; axis < x.rank; ++axis) {
      if (x.shape[index(axis)] != 1) offset += place[index(axis + 4 - x.rank)] * x.strides[index(axis)];
    }
    for (std::int64_t m = 0; m < tile.count(); ++m) {
      add_to(x, offset + m * key_step, static_cast<double>(d[m * block.lanes + l]));
    }
  }
}

bool is_shared(const AttendCall& call, const TensorView& x) {
  if (x.empty()) return false;
  const std::array<std::int64_t, 4> all{call.args.q.rank == 4 ? call.args.q.shape[0] : 1, call.layer.heads, 0, 0};
  for (int axis = 0; axis < 4; ++axis) {
    const int own = axis - (4 - x.rank);
    const bool is_one = own < 0 || x.shape[index(own)] == 1;
    if (is_one && (axis >= 2 || all[index(axis)] > 1)) return true;
  }
  return false;
}

}  // namespace posenc::cpu
