// The interface of the kernels for angles, RoPE, conversion, norms and the input stage, and the table of all kernels of
// an instruction set (as ggml-cpu's and oneDNN's dispatch tables).
//
//   AngleRows    cos and sin of positions          angles_loop.h
//   RotateRows   RoPE on q and k                   rotate_loop.h
//   ConvertRows  f32, f16, bf16 into each other    convert_loop.h
//   NormRows     RMSNorm, LayerNorm, L2, gradients norm_loop.h
//   InputRows    positions' rows into embeddings   input_loop.h
//   attention    tiles of scores                   attention.h, pairs.h
//   codes        quantised KV caches               codes.h
//
// Plain structs in, pointers out. Kernels check nothing, throw nothing and call nothing; src/cpu checks first. One
// KernelTable per instruction set; src/cpu/machine/dispatch.h chooses at run time.
#pragma once

#include <cstdint>

#include "kernels/attention.h"
#include "kernels/codes/codes.h"
#include "kernels/pairs.h"

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

// Lines are fetched into L1 so many bytes ahead of their use, where KernelTable::fetches_ahead: 16 to 48 lines gave the
// same times from L3, 8 to 16 were slower from memory, as were 128 into L2 alone (docs/performance.md).
constexpr std::int64_t kFetchAheadBytes = 2048;

// Rotates `pairs` pairs of each head of each row: (a, b) -> (a c - b s, b c + a s) with c = cos_scale * cos, s alike,
// in f32, each result rounded once, to nearest, ties to even. `from` is the first channel of the first pair of row 0,
// head 0. Strides in elements. `to` is `from` with its strides, or does not overlap it.
struct RotateRows {
  Element element = Element::f32;
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::int64_t pairs = 0;
  std::int64_t partner = 0;           // half: from a pair's first channel to its second. interleaved: 0, it is the next
  const float* const* cos = nullptr;  // [rows], each to [pairs]
  std::int64_t sin_offset = 0;        // a row's sin stands so many floats after its cos
  float cos_scale = 1.0F;
  float sin_scale = 1.0F;
  const void* from = nullptr;
  std::int64_t from_row = 0;
  std::int64_t from_head = 0;
  void* to = nullptr;
  std::int64_t to_row = 0;
  std::int64_t to_head = 0;
  // While `from` is below this, lines kFetchAheadBytes on are fetched. Heads outside: of the first. Null: never.
  const void* fetch_end = nullptr;
};

// Rows of `count` elements in another type: exact, or each rounded once, to nearest, ties to even. The two types differ
// and the rows do not overlap. Strides in elements.
struct ConvertRows {
  Element from_element = Element::f32;
  Element to_element = Element::f32;
  std::int64_t rows = 0;
  std::int64_t count = 0;
  const void* from = nullptr;
  std::int64_t from_row = 0;
  void* to = nullptr;
  std::int64_t to_row = 0;
};

// Each row, `count` floats and the next row after them, in place:
//
//   x -> (x - centre) / sqrt(sum((x - centre)^2) / divisor + epsilon) * weight + bias      centre: mean(x), or 0
//
// A sum is kept in kSums registers in f32, and those are added in pairs; from there to the factor all is double.
struct NormRows {
  std::int64_t rows = 0;
  std::int64_t count = 0;
  float* x = nullptr;
  bool centred = false;
  double divisor = 1.0;
  double epsilon = 0.0;
  const float* weight = nullptr;  // [count] of row 0; null: 1
  const float* bias = nullptr;    // likewise; null: 0, and where weight is
  std::int64_t weight_row = 0;    // from a row's weights and biases to those of the next; 0: all have the same
};
constexpr int kSums = 4;

// The transpose of a norm, in place: of its rows x and of what a loss gives of their results, what it gives of x.
struct NormBackwardRows {
  NormRows norm;              // x: as before the norm; becomes the rows without weight and bias. bias is not read
  float* d = nullptr;         // rows like x: of the results, becomes that of x
  float* d_weight = nullptr;  // [count] of row 0, added to; null: not asked for
  float* d_bias = nullptr;    // likewise
  std::int64_t sums_row = 0;  // from a row's d_weight and d_bias to those of the next; 0: all add to the same
};

// Rows of `count` channels: to = (multiplier from + types) + positions, or times positions, in f32, each step rounded,
// then once to `element`. `to` is `from` with its stride, or does not overlap it. Strides in elements.
struct InputRows {
  Element element = Element::f32;
  Element row_element = Element::f32;  // of positions and types: f32, or `element`
  std::int64_t rows = 0;
  std::int64_t count = 0;
  float multiplier = 1.0F;
  bool multiplies = false;
  const void* const* positions = nullptr;  // [rows], each to [count]
  const void* const* types = nullptr;      // likewise; null: none are added
  const void* from = nullptr;
  std::int64_t from_row = 0;
  void* to = nullptr;
  std::int64_t to_row = 0;
};

struct KernelTable {
  void (*angles)(const AngleRows& rows) noexcept;
  void (*rotate)(const RotateRows& rows) noexcept;
  void (*convert)(const ConvertRows& rows) noexcept;
  void (*normalise)(const NormRows& rows) noexcept;
  void (*normalise_backward)(const NormBackwardRows& rows) noexcept;
  void (*input)(const InputRows& rows) noexcept;
  const AttentionKernels* attention;
  const CodeKernels* codes;
  const PairKernels* pairs = nullptr;  // null: there are no products of bfloat16
  bool fetches_ahead = false;          // lines asked for ahead come sooner here than by the processor's own foresight
};

void angles_scalar(const AngleRows& rows) noexcept;
void angles_avx2(const AngleRows& rows) noexcept;
void angles_avx512(const AngleRows& rows) noexcept;
void angles_neon(const AngleRows& rows) noexcept;

void rotate_scalar(const RotateRows& rows) noexcept;
void rotate_avx2(const RotateRows& rows) noexcept;
void rotate_avx512(const RotateRows& rows) noexcept;
void rotate_neon(const RotateRows& rows) noexcept;

void convert_scalar(const ConvertRows& rows) noexcept;
void convert_avx2(const ConvertRows& rows) noexcept;
void convert_avx512(const ConvertRows& rows) noexcept;
void convert_neon(const ConvertRows& rows) noexcept;

void normalise_scalar(const NormRows& rows) noexcept;
void normalise_avx2(const NormRows& rows) noexcept;
void normalise_avx512(const NormRows& rows) noexcept;
void normalise_neon(const NormRows& rows) noexcept;

void normalise_backward_scalar(const NormBackwardRows& rows) noexcept;
void normalise_backward_avx2(const NormBackwardRows& rows) noexcept;
void normalise_backward_avx512(const NormBackwardRows& rows) noexcept;
void normalise_backward_neon(const NormBackwardRows& rows) noexcept;

void input_scalar(const InputRows& rows) noexcept;
void input_avx2(const InputRows& rows) noexcept;
void input_avx512(const InputRows& rows) noexcept;
void input_neon(const InputRows& rows) noexcept;

}  // namespace posenc::kernels
