// PairProduct by tiles, written once over registers of tiles T: AMX's, or the model of them that tests have.
//
// A tile of a has 16 rows of 32 elements as they lie; one of b 16 rows of words, 16 lanes of each; one of c 16 x 16
// sums. Up to 2 x 2 tiles of c stay in registers, so that each tile of a and of b is loaded once for two products. All
// tiles are whole, under one configuration: where rows or the depth end within one, a's is copied with zeros after it
// and c's goes by a copy, so that nothing beside the operands is touched.
//
// T: load<n>(from, bytes from row to row), store<n>, zero<n>(), and multiply_add<c, a, b>(), n from 0 to 7.
#pragma once

#include "kernels/pairs.h"

namespace posenc::kernels {

constexpr std::int64_t kTileRows = 16;              // of any tile; and lanes of one
constexpr std::int64_t kTileDepth = 2 * kTileRows;  // elements of a row of a
constexpr std::int64_t kBlockSide = 2 * kTileRows;  // rows and lanes of c that are made together
static_assert(kPairRows == kTileRows);

namespace {  // what is not a template over T must not leave the object

// The tile of a from row r and element k on, or its copy.
struct TileOfA {
  std::uint16_t copy[kTileRows * kTileDepth];
  const std::uint16_t* first = nullptr;
  std::int64_t row_bytes = 0;

  void place(const PairProduct& x, std::int64_t r, std::int64_t k) noexcept {
    const std::int64_t rows = x.rows - r < kTileRows ? x.rows - r : kTileRows;
    const std::int64_t depth = x.depth - k < kTileDepth ? x.depth - k : kTileDepth;
    const std::uint16_t* const from = x.a + r * x.a_row + k;
    if (rows == kTileRows && depth == kTileDepth) {
      first = from;
      row_bytes = x.a_row * 2;
      return;
    }
    __builtin_memset(copy, 0, sizeof copy);
    for (std::int64_t m = 0; m < rows; ++m) {
      __builtin_memcpy(copy + m * kTileDepth, from + m * x.a_row, static_cast<std::size_t>(depth) * 2);
    }
    first = copy;
    row_bytes = kTileDepth * 2;
  }
};

// Sums of up to kBlockSide rows and kLaneTiles tiles of lanes, where they lie or beside it.
template <int kLaneTiles>
struct BlockOfC {
  static constexpr std::int64_t kLanes = kLaneTiles * kTileRows;
  float copy[kBlockSide * kLanes];
  const PairProduct& x;
  float* own;
  std::int64_t rows;
  const float* scale;
  const float* by;
  float* first;
  std::int64_t row;

  BlockOfC(const PairProduct& product, std::int64_t r, std::int64_t lane) noexcept
      : x(product),
        own(product.c + r * product.lanes + lane),
        rows(product.rows - r < kBlockSide ? product.rows - r : kBlockSide),
        scale(product.scale == nullptr ? nullptr : product.scale + lane),
        by(product.by == nullptr ? nullptr : product.by + lane),
        first(rows % kTileRows == 0 ? own : copy),
        row(rows % kTileRows == 0 ? product.lanes : kLanes) {}

  void scale_sums() noexcept {
    if (first == copy) __builtin_memset(copy, 0, sizeof copy);
    for (std::int64_t m = 0; m < rows; ++m) {
      for (std::int64_t l = 0; l < kLanes; ++l) first[m * row + l] = own[m * x.lanes + l] * scale[l];
    }
  }
  void finish() noexcept {
    if (first == own && by == nullptr) return;
    for (std::int64_t m = 0; m < rows; ++m) {
      for (std::int64_t l = 0; l < kLanes; ++l) {
        own[m * x.lanes + l] = first[m * row + l] * (by == nullptr ? 1.0F : by[l]);
      }
    }
  }
};

}  // namespace

// Registers: sums 0 and 1 of the first rows, 2 and 3 of the others; a 4 and 5; b 6 and 7.
template <int kRowTiles, int kLaneTiles, class T>
void multiply_block(T& tiles, const PairProduct& x, std::int64_t r, std::int64_t lane) noexcept {
  BlockOfC<kLaneTiles> c(x, r, lane);
  const auto each_sum = [&](auto use) noexcept {
    const std::int64_t bytes = c.row * 4;
    use.template operator()<0>(c.first, bytes);
    if constexpr (kLaneTiles > 1) use.template operator()<1>(c.first + kTileRows, bytes);
    if constexpr (kRowTiles > 1) use.template operator()<2>(c.first + kTileRows * c.row, bytes);
    if constexpr (kRowTiles > 1 && kLaneTiles > 1) {
      use.template operator()<3>(c.first + kTileRows * c.row + kTileRows, bytes);
    }
  };
  if (x.scale == nullptr) {
    each_sum([&]<int n>(float*, std::int64_t) noexcept { tiles.template zero<n>(); });
  } else {
    c.scale_sums();
    each_sum([&]<int n>(float* at, std::int64_t bytes) noexcept { tiles.template load<n>(at, bytes); });
  }
  TileOfA a[kRowTiles];
  for (std::int64_t k = 0; k < x.depth; k += kTileDepth) {
    const std::uint32_t* const b = x.b + k / 2 * x.lanes + lane;
    const std::int64_t b_bytes = x.lanes * 4;
    for (int n = 0; n < kRowTiles; ++n) a[n].place(x, r + n * kTileRows, k);
    tiles.template load<4>(a[0].first, a[0].row_bytes);
    tiles.template load<6>(b, b_bytes);
    tiles.template multiply_add<0, 4, 6>();
    if constexpr (kRowTiles > 1) {
      tiles.template load<5>(a[1].first, a[1].row_bytes);
      tiles.template multiply_add<2, 5, 6>();
    }
    if constexpr (kLaneTiles > 1) {
      tiles.template load<7>(b + kTileRows, b_bytes);
      tiles.template multiply_add<1, 4, 7>();
    }
    if constexpr (kRowTiles > 1 && kLaneTiles > 1) tiles.template multiply_add<3, 5, 7>();
  }
  each_sum([&]<int n>(float* at, std::int64_t bytes) noexcept { tiles.template store<n>(at, bytes); });
  c.finish();
}

template <int kLaneTiles, class T>
void multiply_lanes(T& tiles, const PairProduct& x, std::int64_t lane) noexcept {
  for (std::int64_t r = 0; r < x.rows; r += kBlockSide) {
    if (x.rows - r > kTileRows) {
      multiply_block<2, kLaneTiles>(tiles, x, r, lane);
    } else {
      multiply_block<1, kLaneTiles>(tiles, x, r, lane);
    }
  }
}

template <class T>
void tile_product(const PairProduct& x) noexcept {
  T tiles;
  std::int64_t lane = 0;
  for (; lane + kBlockSide <= x.lanes; lane += kBlockSide) multiply_lanes<2>(tiles, x, lane);
  if (lane < x.lanes) multiply_lanes<1>(tiles, x, lane);
}

}  // namespace posenc::kernels
