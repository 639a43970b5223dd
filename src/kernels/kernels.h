// The border of the island: what the rest of posenc hands to the kernels, and what it gets back.
//
// Plain structs in, pointers out. Kernels check nothing, throw nothing and call nothing; src/cpu checks first. One
// KernelTable per instruction set; src/cpu/dispatch.h chooses.
#pragma once

#include <cstdint>

namespace posenc::kernels {

// The arrays of turns are read in whole vectors: their length is a multiple of this, filled up with zeros.
constexpr std::int64_t kPadding = 8;

// cos[t][p] = factor * cos(2 pi x[t][p] turns[p]),  sin alike,  turns[p] = hi[p] + lo[p] + lowest[p].
struct AngleRows {
  std::int64_t rows = 0;
  std::int64_t pairs = 0;
  const double* x = nullptr;  // x[t * x_stride], or x[t * x_stride + p] when per_pair
  std::int64_t x_stride = 0;
  bool per_pair = false;
  double near_limit = 0.0;         // |x turns| < 2^32 for |x| up to here
  const double* hi = nullptr;      // [pairs, padded], turns per unit of x
  const double* lo = nullptr;      // [pairs, padded]
  const double* lowest = nullptr;  // [pairs, padded]
  double factor = 1.0;
  float* cos = nullptr;  // row t at cos + t * out_stride, [pairs]
  float* sin = nullptr;  // row t at sin + t * out_stride, [pairs]
  std::int64_t out_stride = 0;
};

struct KernelTable {
  void (*angles)(const AngleRows& rows) noexcept;
};

void angles_scalar(const AngleRows& rows) noexcept;
void angles_avx2(const AngleRows& rows) noexcept;
void angles_avx512(const AngleRows& rows) noexcept;

}  // namespace posenc::kernels
