// Copies a matrix into panels, and multiplies rows with them, a block of the depth at a time.
#include "cpu/attend/panels.h"

#include <algorithm>

namespace posenc::cpu {

void Panels::reserve(std::int64_t depth, std::int64_t columns) {
  floats_.reserve(static_cast<std::size_t>(floats_of(depth, columns)));
}

void Panels::fill(const Matrix& b) {
  const std::int64_t wide = kernels_->register_lanes;
  depth_ = b.depth;
  panels_ = (b.columns + lanes_ - 1) / lanes_;
  width_ = (b.columns + wide - 1) / wide * wide;
  const std::int64_t blocks = (depth_ + kDepth - 1) / kDepth;
  floats_.resize(static_cast<std::size_t>(floats_of(b.depth, b.columns)));
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t first = block * kDepth;
    const std::int64_t rows = std::min(kDepth, depth_ - first);
    for (std::int64_t p = 0; p < panels_; ++p) {
      const std::int64_t used = std::min(lanes_, b.columns - p * lanes_);
      const float* const from = b.from + first * b.row + p * lanes_ * b.step;
      float* const to = floats_.data() + (block * panels_ + p) * kDepth * lanes_;
      if (b.step == 1) {
        for (std::int64_t k = 0; k < rows; ++k) std::copy_n(from + k * b.row, used, to + k * lanes_);
        continue;
      }
      for (std::int64_t n = 0; n < used; ++n) {
        for (std::int64_t k = 0; k < rows; ++k) to[k * lanes_ + n] = from[k * b.row + n * b.step];
      }
    }
  }
}

void Panels::multiply(const Times& x) const {
  const std::int64_t end = x.panels < 0 ? panels_ : x.first_panel + x.panels;
  for (std::int64_t k = 0; k < depth_; k += kDepth) {
    const std::int64_t depth = std::min(kDepth, depth_ - k);
    const float* a = x.a + k * x.a_step;
    std::int64_t a_row = x.a_row;
    if (x.copy != nullptr) {
      for (std::int64_t r = 0; r < x.rows; ++r) std::copy_n(a + r * a_row, depth, x.copy + r * kDepth);
      a = x.copy;
      a_row = kDepth;
    }
    for (std::int64_t p = x.first_panel; p < end; ++p) {
      kernels_->product({.a = a,
                         .a_row = a_row,
                         .a_step = x.a_step,
                         .b = panel(k / kDepth, p),
                         .c = x.c + (p - x.first_panel) * lanes_,
                         .scale = k == 0 && !x.adds ? nullptr : ones_.data(),
                         .rows = x.rows,
                         .depth = depth,
                         .lanes = std::min(lanes_, width_ - p * lanes_),
                         .b_row = lanes_,
                         .c_row = x.c_row});
    }
  }
}

}  // namespace posenc::cpu
