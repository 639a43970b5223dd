// AMX's tiles and TDPBF16PS in plain loops, as the Intel SDM (vol. 1, 18; vol. 2, TDPBF16PS) has them: what
// kernels/tile_loop.h runs on where no machine has tiles.
//
// Each tile has as many rows, and bytes of a row, as its configuration says. Of each pair of columns the even products
// and the odd ones are summed by themselves, fused, and then both to the result; what is below 2^-126 counts as 0.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "kernels/tile_loop.h"

namespace posenc::test {

inline float flushed(float x) { return std::abs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x; }

inline float float_of_bf16(std::uint16_t x) { return flushed(std::bit_cast<float>(std::uint32_t{x} << 16U)); }

// What a product of 32 elements of a row of a and 16 words of a column of b adds to c; words are `step` apart.
inline float tile_sum(const std::uint16_t* a, std::int64_t pairs, const std::uint32_t* b, std::int64_t step, float c) {
  float even = 0.0F;
  float odd = 0.0F;
  for (std::int64_t k = 0; k < pairs; ++k) {
    const std::uint32_t word = b[k * step];
    even = flushed(std::fma(float_of_bf16(a[2 * k]), float_of_bf16(static_cast<std::uint16_t>(word)), even));
    odd = flushed(std::fma(float_of_bf16(a[2 * k + 1]), float_of_bf16(static_cast<std::uint16_t>(word >> 16U)), odd));
  }
  return flushed(flushed(c) + flushed(even + odd));
}

class TileModel {
 public:
  struct Tile {
    std::int64_t rows = 0;
    std::int64_t row_bytes = 0;
    std::array<std::array<std::byte, 64>, 16> bytes{};
  };

  // As kernels/pairs_amx.cpp configures them.
  TileModel() {
    for (Tile& tile : tiles_) {
      tile.rows = 16;
      tile.row_bytes = 64;
    }
  }
  explicit TileModel(const std::array<Tile, 8>& tiles) : tiles_(tiles) {}

  template <int n>
  void zero() {
    tiles_[n].bytes = {};
  }
  template <int n>
  void load(const void* from, std::int64_t row_bytes) {
    zero<n>();
    for (std::int64_t r = 0; r < tiles_[n].rows; ++r) {
      std::memcpy(row(n, r), static_cast<const std::byte*>(from) + r * row_bytes, bytes_of_row(n));
    }
  }
  template <int n>
  void store(void* to, std::int64_t row_bytes) {
    for (std::int64_t r = 0; r < tiles_[n].rows; ++r) {
      std::memcpy(static_cast<std::byte*>(to) + r * row_bytes, row(n, r), bytes_of_row(n));
    }
  }
  // Throws where the processor would.
  template <int c, int a, int b>
  void multiply_add() {
    const bool fits = tiles_[c].rows == tiles_[a].rows && tiles_[c].row_bytes == tiles_[b].row_bytes &&
                      tiles_[a].row_bytes == 4 * tiles_[b].rows && a != b && a != c && b != c;
    if (!fits) throw std::logic_error("tiles do not fit each other");
    const std::int64_t lanes = tiles_[c].row_bytes / 4;
    std::array<std::array<std::uint32_t, 16>, 16> words{};
    for (std::int64_t k = 0; k < tiles_[b].rows; ++k) std::memcpy(&words[at(k)], row(b, k), bytes_of_row(b));
    for (std::int64_t m = 0; m < tiles_[c].rows; ++m) {
      std::array<float, 16> sums{};
      std::array<std::uint16_t, 32> elements{};
      std::memcpy(sums.data(), row(c, m), bytes_of_row(c));
      std::memcpy(elements.data(), row(a, m), bytes_of_row(a));
      for (std::int64_t n = 0; n < lanes; ++n) {
        sums[at(n)] = tile_sum(elements.data(), tiles_[b].rows, &words[0][at(n)], 16, sums[at(n)]);
      }
      std::memcpy(row(c, m), sums.data(), bytes_of_row(c));
    }
  }

 private:
  static std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }
  std::byte* row(int n, std::int64_t r) { return tiles_[at(n)].bytes[at(r)].data(); }
  std::size_t bytes_of_row(int n) const { return at(tiles_[at(n)].row_bytes); }

  std::array<Tile, 8> tiles_{};
};

}  // namespace posenc::test
