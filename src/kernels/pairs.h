// QK^T and PV in bfloat16, two products at a time, as the instructions for them have it: AVX512_BF16's VDPBF16PS and
// AMX's TDPBF16PS (Intel SDM vol. 2). Sums are in f32. Caller: src/cpu/attend/pair_products.h.
//
// What is multiplied was in bfloat16, or is rounded to it; products are exact in f32, and so are summed there. Numbers
// below 2^-126 count as 0, as factors and as sums: neither instruction asks whether it should be so.
#pragma once

#include <cstdint>

#include "kernels/attention.h"

namespace posenc::kernels {

// Rows of b come in so many words, those beyond the depth zeros: a tile of AMX has as many.
constexpr std::int64_t kPairRows = 16;

// c[r][l] = scale[l] c[r][l] + by[l] sum_k a[r a_row + k] b[k / 2][l][k % 2]
struct PairProduct {
  static constexpr std::int64_t a_step = 2;
  const std::uint16_t* a = nullptr;
  std::int64_t a_row = 0;
  const std::uint32_t* b = nullptr;  // [depth / 2, and zeros up to a multiple of kPairRows][lanes]
  float* c = nullptr;                // [rows][lanes]
  const float* scale = nullptr;      // [lanes]; null: c is not read
  const float* by = nullptr;         // [lanes], or null: 1
  std::int64_t rows = 0;
  std::int64_t depth = 0;  // even
  std::int64_t lanes = 0;
};

// Floats to b: rows 2 n and 2 n + 1 become the words of row n, each number rounded once, to nearest, ties to even;
// zeros follow. What it was rounded to is added to sum[l].
struct PairRows {
  const float* x = nullptr;  // [rows][lanes]
  std::int64_t rows = 0;
  std::int64_t lanes = 0;
  std::uint32_t* to = nullptr;
  float* sum = nullptr;  // [lanes], or null
};

// Elements of any type to a, whose rows are their columns: to[c to_row + r] = x[r x_row + c], rounded likewise; zeros
// follow up to row kPairColumns.
constexpr std::int64_t kPairColumns = 64;
struct PairColumns {
  Element element = Element::f32;
  const void* x = nullptr;
  std::int64_t x_row = 0;
  std::int64_t rows = 0;  // at most kPairColumns
  std::int64_t width = 0;
  std::uint16_t* to = nullptr;  // [width][kPairColumns]
};

// decode_dots where both factors are in bfloat16, in place of DecodeLanes::b:
// c[r][l] = by[l] sum_k a[r a_row + h a_head + k] b[l depth + k]
struct DecodePairs {
  DecodeLanes of;
  const std::uint16_t* b = nullptr;  // [heads each][depth]
  const float* by = nullptr;         // [lanes]
};

struct PairKernels {
  void (*product)(const PairProduct& x) noexcept;
  void (*rows)(const PairRows& x) noexcept;
  void (*columns)(const PairColumns& x) noexcept;
  void (*decode_dots)(const DecodePairs& x) noexcept;  // or null: floats are as good
};

extern const PairKernels pairs_avx512;
extern const PairKernels pairs_amx;

}  // namespace posenc::kernels
