// A matrix whose rows are multiplied by the kernel that multiplies attention's tiles, for products that are larger than
// a tile: it is copied once into panels of kDepth rows and as many columns as the kernel has lanes, each of them dense,
// so that a panel stays in L1 while rows pass, whatever the strides were.
//
//   c[r][n] (+)= sum_k a[r][k] b[k][n]      summed by rising k, one fused multiply-add each: whatever the panels
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/attention.h"
#include "posenc/line_allocator.h"

namespace posenc::cpu {

class Panels {
 public:
  // 128 rows of 48 floats fill half of an L1 cache of 48 KiB.
  static constexpr std::int64_t kDepth = 128;

  explicit Panels(const kernels::AttentionKernels& kernels)
      : kernels_(&kernels), lanes_(kernels::kLaneRegisters * kernels.register_lanes) {
    ones_.resize(static_cast<std::size_t>(lanes_), 1.0F);
  }

  // b[k][n] = from[k row + n step]
  struct Matrix {
    const float* from;
    std::int64_t row;
    std::int64_t step;
    std::int64_t depth;
    std::int64_t columns;
  };
  void fill(const Matrix& b);
  // So that fill() allocates nothing for a matrix that is no larger.
  void reserve(std::int64_t depth, std::int64_t columns);

  std::int64_t count() const { return panels_; }
  std::int64_t lanes() const { return lanes_; }  // columns of a panel
  std::int64_t width() const { return width_; }  // all columns, in whole registers

  struct Times {
    const float* a;  // a[r][k] = a[r a_row + k a_step]
    std::int64_t a_row;
    std::int64_t a_step;
    std::int64_t rows;
    float* c;  // [rows][c_row]: from the first panel's first column, room for whole registers
    std::int64_t c_row;
    bool adds = false;             // c has something in it
    std::int64_t first_panel = 0;  // and so many of them; -1: all that follow
    std::int64_t panels = -1;
    float* copy = nullptr;  // [rows][kDepth], for rows that are far apart (a_step is 1): a is copied there
  };
  void multiply(const Times& x) const;

 private:
  std::int64_t floats_of(std::int64_t depth, std::int64_t columns) const {
    return (depth + kDepth - 1) / kDepth * kDepth * ((columns + lanes_ - 1) / lanes_ * lanes_);
  }
  const float* panel(std::int64_t block, std::int64_t n) const {
    return floats_.data() + (block * panels_ + n) * kDepth * lanes_;
  }

  const kernels::AttentionKernels* kernels_;
  std::int64_t lanes_;
  std::int64_t depth_ = 0;
  std::int64_t panels_ = 0;
  std::int64_t width_ = 0;
  std::vector<float, LineAllocator<float>> floats_;  // [blocks of kDepth][panels][kDepth][lanes]
  std::vector<float> ones_;                          // [lanes]
};

}  // namespace posenc::cpu
