// Sines and cosines of distances as floats, for SineDistance (math/primitives.h): Transformer-XL's relative positions
// (arXiv 1901.02860), which XLNet and the speech conformers share. The angle kernel makes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "cpu/angles/angle_rows.h"
#include "kernels/kernels.h"
#include "math/primitives.h"

namespace posenc::cpu {

// Where a term's channels stand in a row: the sines of all frequencies, then their cosines.
class SineRule {
 public:
  explicit SineRule(const math::SineDistance& term);

  std::int64_t width() const { return 2 * pairs_; }  // of a row
  // W with its columns as rows have them, zeros where the term has nothing: [outputs, width()].
  std::vector<float> arranged(const ConstTensorView& projection) const;
  // The transpose: [outputs, width()] as [outputs, channels of the term].
  std::vector<double> taken_apart(const std::vector<double>& arranged) const;
  // Rows of `distances`, one after another.
  void write(const kernels::KernelTable& kernels, std::span<const double> distances, float* rows) const;

 private:
  static std::vector<double> frequencies(const math::SineDistance& term);

  AngleRule angles_;
  std::int64_t pairs_;
  std::vector<std::int64_t> places_;  // of each channel in a row; -1: it has nothing
};

// The rows of the distances last asked for: those of the next tile, and of the next block of lanes, are mostly the
// same.
class SineRows {
 public:
  // 64 keys and 48 lanes whose positions step by 1 have 111 distances: those of two tiles side by side are held.
  static constexpr std::int64_t kRows = 256;

  SineRows(const SineRule& rule, std::pmr::memory_resource* memory);

  struct Piece {
    const float* rows;
    std::int64_t first;  // of what was asked for
    std::int64_t count;
  };
  // Calls use(Piece) for pieces of low .. low + count - 1 that lie together; count is at most kRows.
  template <typename Use>
  void for_run(const kernels::KernelTable& kernels, std::int64_t low, std::int64_t count, const Use& use) {
    make(kernels, low, count);
    for (std::int64_t n = 0; n < count;) {
      const std::int64_t slot = slot_of(low + n);
      const std::int64_t some = std::min(count - n, kRows - slot);
      use(Piece{row(slot), n, some});
      n += some;
    }
  }
  // Rows of any distances, at most kRows.
  const float* of(const kernels::KernelTable& kernels, std::span<const std::int64_t> distances);

 private:
  static std::int64_t slot_of(std::int64_t distance) { return ((distance % kRows) + kRows) % kRows; }
  float* row(std::int64_t slot) { return rows_.data() + slot * rule_.width(); }
  void make(const kernels::KernelTable& kernels, std::int64_t low, std::int64_t count);

  const SineRule& rule_;
  std::pmr::vector<std::int64_t> held_;  // the distance in each slot
  std::pmr::vector<double> wanted_;
  std::pmr::vector<float> rows_;  // [kRows, width]
};

}  // namespace posenc::cpu
