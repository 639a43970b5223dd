// A block's numbers, [channels][lanes] as products have them, and one row for each lane, as tensors do: the transposes
// at the ends of a block (queries in, outputs out), each number times that of its lane on the way.
//
// Four by four numbers at a time, which stay in registers of every instruction set; channel by channel, since that side
// comes from the second cache: lane by lane, its lines come one at a time, and five times as slowly.
#pragma once

#include "kernels/attention.h"

namespace posenc::kernels {

// A vector of the compiler's: floats_*.h have no permutations of four lanes in common.
template <class V>
struct Square {
  typedef float Four __attribute__((vector_size(16)));
  static constexpr std::int64_t kSide = 4;
  Four rows[kSide];

  void load(const float* from, std::int64_t step) noexcept {
#pragma GCC unroll 4
    for (int r = 0; r < kSide; ++r) __builtin_memcpy(&rows[r], from + r * step, sizeof(Four));
  }
  void store(float* to, std::int64_t step) const noexcept {
#pragma GCC unroll 4
    for (int r = 0; r < kSide; ++r) __builtin_memcpy(to + r * step, &rows[r], sizeof(Four));
  }
  void turn() noexcept {
    const Four a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
    const Four b = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
    const Four c = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
    const Four d = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
    rows[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    rows[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    rows[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    rows[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
  }
  // Rows are channels: each lane by its own.
  void multiply(const float* by) noexcept {
    Four of_lanes;
    __builtin_memcpy(&of_lanes, by, sizeof(Four));
#pragma GCC unroll 4
    for (int r = 0; r < kSide; ++r) rows[r] *= of_lanes;
  }
};

// square(l, c), or one(l, c) where lanes or channels are no multiple of four.
template <class Whole, class One>
void for_lanes_and_channels(Transpose x, Whole square, One one) noexcept {
  const std::int64_t whole = x.channels - x.channels % 4;
  const std::int64_t squares = x.lanes - x.lanes % 4;
  for (std::int64_t c = 0; c < whole; c += 4) {
    for (std::int64_t l = 0; l < squares; l += 4) square(l, c);
    for (std::int64_t l = squares; l < x.lanes; ++l) {
      for (std::int64_t j = 0; j < 4; ++j) one(l, c + j);
    }
  }
  for (std::int64_t c = whole; c < x.channels; ++c) {
    for (std::int64_t l = 0; l < x.lanes; ++l) one(l, c);
  }
}

// x is captured by value: it stays in registers then, since nothing that is stored can be it.
template <class V>
void columns_of_rows(const Transpose& x) noexcept {
  for_lanes_and_channels(
      x,
      [x](std::int64_t l, std::int64_t c) noexcept {
        Square<V> square;
        square.load(x.from + l * x.channels + c, x.channels);
        square.turn();
        if (x.by != nullptr) square.multiply(x.by + l);
        square.store(x.to + c * x.lanes + l, x.lanes);
      },
      [x](std::int64_t l, std::int64_t c) noexcept {
        const float a = x.from[l * x.channels + c];
        x.to[c * x.lanes + l] = x.by == nullptr ? a : x.by[l] * a;
      });
}

template <class V>
void rows_of_columns(const Transpose& x) noexcept {
  for_lanes_and_channels(
      x,
      [x](std::int64_t l, std::int64_t c) noexcept {
        Square<V> square;
        square.load(x.from + c * x.lanes + l, x.lanes);
        if (x.by != nullptr) square.multiply(x.by + l);
        square.turn();
        square.store(x.to + l * x.channels + c, x.channels);
      },
      [x](std::int64_t l, std::int64_t c) noexcept {
        const float a = x.from[c * x.lanes + l];
        x.to[l * x.channels + c] = x.by == nullptr ? a : x.by[l] * a;
      });
}

}  // namespace posenc::kernels
