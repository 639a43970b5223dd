// The interface of the attention kernels: steps over one tile of QK^T (products, biases, mask, online softmax), and
// what linear attention has instead of a softmax.
//
//   Product               QK^T and PV of prefill                   product_loop.h
//   Transpose             queries in, outputs out, of prefill      transpose_loop.h
//   DecodeLanes           QK^T and PV of decode                    decode_loop.h
//   AddRows ... Gates     biases, soft cap, mask, CoPE's gates     score_loop.h
//   Softmax               online softmax, arXiv 1805.02867; FlashAttention, arXiv 2205.14135
//   WeightGradients ...   the backward pass, arXiv 2307.08691      gradient_loop.h
//   Features ...          linear attention, arXiv 2006.16236       linear_loop.h
//
// A tile is [keys][lanes]: a row for each key, a lane for each query of one head. Scores are those of the equation of
// posenc/reference_attend.h, in natural units. `lanes` is 1 to kLaneRegisters registers of floats. Everything here is
// f32; src/cpu/attend/attend_unit.cpp puts the steps together.
#pragma once

#include <cstdint>

namespace posenc::kernels {

enum class Element : std::uint8_t { f32, f16, bf16 };

constexpr std::int64_t kLaneRegisters = 3;  // with 8 rows they are 24 sums in registers, of the 32 that AVX-512 has

// c[r][l] = scale[l] c[r][l] + sum_k a[r a_row + k a_step] b[k][l]
struct Product {
  const float* a = nullptr;
  std::int64_t a_row = 0;
  std::int64_t a_step = 0;
  const float* b = nullptr;      // [depth][lanes]
  float* c = nullptr;            // [rows][lanes]
  const float* scale = nullptr;  // [lanes]; null: c is not read
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  std::int64_t lanes = 0;
  std::int64_t b_row = 0;  // from a row of b to the next; 0: lanes
  std::int64_t c_row = 0;  // likewise
};

// Rows of lanes, as tensors have them, and columns, as products do, each number times by[l]:
//
//   columns_of_rows   to[c][l] = by[l] from[l][c]      rows_of_columns   to[l][c] = by[l] from[c][l]
struct Transpose {
  const float* from = nullptr;
  float* to = nullptr;
  const float* by = nullptr;  // [lanes], or null: 1
  std::int64_t lanes = 0;
  std::int64_t channels = 0;
};

// The two products where the lanes of a KV head are few, with channels in the registers instead: elements of keys and
// values are read as they lie, of any dtype, each once for all lanes of its head. For l of head h, that is h each to h
// each + each - 1:
//
//   c[r][l] = sum_k a[r a_row + h a_head + k] b[l depth + k]
//   out[l][k] = scale[l] out[l][k] + sum_r a[r a_row + h a_head + k] p[r][l]
//
// In decode_dots of floats RoPE may be applied to a, the keys, on load: `pairs` pairs of its channels from `first` on
// are rotated in registers, as RotateRows has it. There b, the queries, is half-split (NeoX) whatever a has: all first
// channels of the pairs, then all second ones.
struct LoadRotation {
  const float* cos = nullptr;  // row r at cos + r row: [pairs], then their sin; null: nothing rotates
  std::int64_t row = 0;
  std::int64_t first = 0;
  std::int64_t pairs = 0;
  bool interleaved = false;
};
constexpr std::int64_t kDecodeLanes = 4;
constexpr std::int64_t kDecodeRows = 4;  // of all heads, before the next rows of any
constexpr std::int64_t kLineBytes = 64;
struct DecodeLanes {
  Element element = Element::f32;
  const void* a = nullptr;
  std::int64_t a_row = 0;
  std::int64_t a_head = 0;
  const float* b = nullptr;      // decode_dots: [heads each][depth]
  float* c = nullptr;            // decode_dots: [rows][lanes]
  LoadRotation rotation{};       // decode_dots
  const float* p = nullptr;      // decode_weighted: [rows][lanes]
  float* out = nullptr;          // decode_weighted: [heads each][depth]
  const float* scale = nullptr;  // decode_weighted: [lanes], or null: 1
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  std::int64_t lanes = 0;
  std::int64_t heads = 1;
  std::int64_t each = 0;  // a multiple of kDecodeLanes
  // What is prefetched into L2 meanwhile, or null: beside line i of row n kDecodeRows + r of head h the line at ahead +
  // n ahead_next + h ahead_head + r ahead_row + i ahead_line, in bytes; and where that is asked for twice, the one
  // ahead_again from there, which was asked for before.
  const void* ahead = nullptr;
  std::int64_t ahead_next = 0;
  std::int64_t ahead_head = 0;
  std::int64_t ahead_row = 0;
  std::int64_t ahead_line = 0;
  std::int64_t ahead_again = 0;
};

// Scores that a step changes.
struct Scores {
  float* scores = nullptr;  // [keys][lanes]
  std::int64_t keys = 0;
  std::int64_t lanes = 0;
};

// s[m][l] += factor[l] added[m step + l]. By distance, where positions go up by 1, rows of `added` are one run of
// numbers that begins one earlier for each key: step -1.
struct AddRows {
  Scores to;
  const float* added = nullptr;
  std::int64_t step = 0;
  const float* factor = nullptr;  // [lanes], or null: 1
};

// s[m][l] += row[l] + factor[l] column[m]
struct AddColumn {
  Scores to;
  const float* column = nullptr;  // [keys]
  const float* row = nullptr;     // [lanes], or null: 0
  const float* factor = nullptr;  // [lanes], or null: 1
};

// s[m][l] += factor[l] table[m table_step + index[m index_step + l] + (of_lane ? l : 0)]
struct AddGathered {
  Scores to;
  const float* table = nullptr;
  std::int64_t table_step = 0;
  const std::int32_t* index = nullptr;
  std::int64_t index_step = 0;
  bool of_lane = false;
  const float* factor = nullptr;  // [lanes], or null: 1
};

// A function of x = factor[l] along[m step + l] that bends at some edges is added:
// s[m][l] += intercept + slope x + sum_n bends[n] max(0, x - edges[n])
struct AddBending {
  Scores to;
  const float* along = nullptr;
  std::int64_t step = 0;
  const float* factor = nullptr;  // [lanes]
  float intercept = 0.0F;
  float slope = 0.0F;
  const float* edges = nullptr;  // [count]
  const float* bends = nullptr;  // [count]
  std::int64_t count = 0;
};

// s = cap tanh(s / cap)
struct CapScores {
  Scores of;
  float cap = 1.0F;
};

// s = -inf where not low[l] <= order[m] <= high[l].
struct MaskScores {
  Scores of;
  const float* order = nullptr;  // [keys]
  const float* low = nullptr;    // [lanes]
  const float* high = nullptr;   // [lanes]
};

// From the last key to the first: carry += sigmoid(s), and out = table[carry], between whole numbers by interpolation,
// beyond the last row the last. s is not changed; where it is -inf nothing is carried.
struct Gates {
  Scores of;
  float* carry = nullptr;        // [lanes]
  const float* table = nullptr;  // [count + 1][lanes], the last row twice
  std::int64_t count = 0;
  float* out = nullptr;  // [keys][lanes]
};

// s -> exp(s - max), with the maximum of all keys so far. Lanes that have seen none keep -inf and get zeros.
struct Softmax {
  Scores of;
  float* max = nullptr;      // [lanes]
  float* sum = nullptr;      // [lanes]
  float* rescale = nullptr;  // [lanes], out: what has been summed with the maximum before is multiplied with
};

// mass[index[m index_step + l] + l] += p[m][l]
struct AddMass {
  Scores of;
  const std::int32_t* index = nullptr;
  std::int64_t index_step = 0;
  float* mass = nullptr;
};

// From the scores that the softmax was made of, z, and dL/dp: the weights, and dL/dy of the scores before the last cap.
//
//   p = exp(z - lse[l]),  d = p (d - delta[l]) (1 - (z inverse_cap)^2),  0 where p is
struct WeightGradients {
  Scores of;                   // z; then p
  float* gradients = nullptr;  // [keys][lanes]: dL/dp; then d
  const float* lse = nullptr;  // [lanes]; inf for a query that sees nothing
  const float* delta = nullptr;
  float inverse_cap = 0.0F;  // 0: no cap
};

// d *= 1 - (z inverse_cap)^2, of capped scores z that are not -inf.
struct CapGradients {
  Scores of;  // d
  const float* capped = nullptr;
  float inverse_cap = 0.0F;
};

// sums[m step + l] += factor[l] d[m][l]
struct SumRows {
  Scores of;
  float* sums = nullptr;
  std::int64_t step = 0;
  const float* factor = nullptr;  // [lanes], or null: 1
};

// The transpose of AddBending, of gradients d: with x = factor[l] along[m step + l],
//
//   sums[0][l] += d[m][l],  sums[1][l] += d x      of all x; then two rows more for each edge, of x beyond it
//   of_x[m][l] = d (slope + sum_n bends[n] [x > edges[n]]),  of_factor[l] += of_x along
struct BendingGradients {
  Scores of;  // d
  const float* along = nullptr;
  std::int64_t step = 0;
  const float* factor = nullptr;  // [lanes]
  float slope = 0.0F;
  const float* edges = nullptr;  // [count]
  const float* bends = nullptr;  // [count]
  std::int64_t count = 0;
  float* sums = nullptr;       // [2 + 2 count][lanes]
  float* of_x = nullptr;       // [keys][lanes], written
  float* of_factor = nullptr;  // [lanes]
};

// The transpose of Gates. x are the scores of which the gates were made, d the gradients of what they added:
//
//   p_m = carry + sum of sigmoid(x_n), n >= m,   sum += d_m E'(p_m),   to_m = sum sigmoid'(x_m),   of_table += d_m
//   dE/dtable
struct GateGradients {
  Scores of;                         // x
  const float* carry = nullptr;      // [lanes], of the keys after
  const float* table = nullptr;      // as Gates has it
  std::int64_t count = 0;            //
  const float* gradients = nullptr;  // d: [keys][lanes]
  float* sum = nullptr;              // [lanes], of the keys before; read and written
  float* of_table = nullptr;         // [count + 1][lanes], added to
  float* places = nullptr;           // [keys][lanes]: p, at most count - 1; written
  float* to = nullptr;               // [keys][lanes], written
};

// x -> f(x), in place: exp(x) below 0 and x + 1 above, max(x, 0), or x.
enum class Feature : std::uint8_t { elu_plus_one, identity, relu };
struct Features {
  Feature of = Feature::identity;
  float* x = nullptr;  // [count]
  std::int64_t count = 0;
};

// Row by row: sum += k[r], totals[r] = q[r] . (before + sum).
struct RunningTotals {
  const float* q = nullptr;       // [rows][width]
  const float* k = nullptr;       // [rows][width]; null: nothing is added
  const float* before = nullptr;  // [width]
  float* sum = nullptr;           // [width], read and written
  float* totals = nullptr;        // [rows]
  std::int64_t rows = 0;
  std::int64_t width = 0;
};

struct AttentionKernels {
  std::int64_t register_lanes;  // floats of one register
  void (*product)(const Product& x) noexcept;
  void (*columns_of_rows)(const Transpose& x) noexcept;
  void (*rows_of_columns)(const Transpose& x) noexcept;
  void (*decode_dots)(const DecodeLanes& x) noexcept;
  void (*decode_weighted)(const DecodeLanes& x) noexcept;
  void (*add_rows)(const AddRows& x) noexcept;
  void (*add_column)(const AddColumn& x) noexcept;
  void (*add_gathered)(const AddGathered& x) noexcept;
  void (*add_bending)(const AddBending& x) noexcept;
  void (*cap)(const CapScores& x) noexcept;
  void (*mask)(const MaskScores& x) noexcept;
  void (*gates)(const Gates& x) noexcept;
  void (*softmax)(const Softmax& x) noexcept;
  void (*add_mass)(const AddMass& x) noexcept;
  void (*weight_gradients)(const WeightGradients& x) noexcept;
  void (*cap_gradients)(const CapGradients& x) noexcept;
  void (*sum_rows)(const SumRows& x) noexcept;
  void (*bending_gradients)(const BendingGradients& x) noexcept;
  void (*gate_gradients)(const GateGradients& x) noexcept;
  void (*features)(const Features& x) noexcept;
  void (*running_totals)(const RunningTotals& x) noexcept;
};

extern const AttentionKernels attention_scalar;
extern const AttentionKernels attention_avx2;
extern const AttentionKernels attention_avx512;
extern const AttentionKernels attention_neon;

}  // namespace posenc::kernels
