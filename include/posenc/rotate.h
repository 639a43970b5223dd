// Applies RoPE: rotates queries and keys by their positions, in place or into other tensors.
//
//   x_i -> R(i) x_i      R(i): each pair of channels rotated by position_i * inv_freq[p], times the attention factor
//
// RoFormer, arXiv 2104.09864. The float64 reference is reference::rotate (reference.h), the kernel
// src/kernels/rotate_loop.h.
//
// Sums are in f32, and each element is rounded to its dtype once, to nearest, ties to even. The result of a row depends
// on that row, its angles and the instruction set, not on its neighbours, the threads or the layout in memory.
//
// Thread safety: calls on different tensors may run at the same time, with one table too.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "posenc/cache/quantised.h"
#include "posenc/export.h"
#include "posenc/info.h"
#include "posenc/parallel.h"
#include "posenc/plan.h"
#include "posenc/rotary_table.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2 {

// With attention factor a: forward a R, inverse R^T / a, transpose a R^T (the backward pass of forward).
enum class Direction : std::uint8_t { forward, inverse, transpose };

// Token t of each sequence stands at start + t, on every axis.
struct PositionRange {
  std::int64_t start = 0;
};

// Coordinates [axes, rows] in any order, one for each row of the tensors; rows are tokens, or batch * tokens with
// tokens fastest. Of a rank 4 tensor [axes, tokens] serves every sequence. The number of axes is the table's.
using Positions =
    std::variant<PositionRange, std::span<const std::int64_t>, std::span<const std::int32_t>, std::span<const double>>;

// Where the rows of packed sequences are in a paged KV cache, a tensor of [blocks, block_size, heads, head_dim]: row r
// of sequence s is token first[s] + r of that sequence, where a PositionRange counts on, and token n stands in block
// block_table[s][n / block_size] at n % block_size.
struct Pages {
  std::span<const std::int32_t> block_table{};  // [sequences, blocks of one sequence]; -1: a hole, where no row may be
  std::span<const std::int32_t> first{};        // [sequences]; omitted: all 0
};

// Queries and keys of one call have the same rank, batch and tokens, and heads of their own. Head sizes are the table's
// head_dim, channels of a head are adjacent, and channels that the table does not rotate are kept (or copied).
struct RotateArgs {
  TensorView q{};            // written: [tokens, heads, head_dim] or [batch, heads, tokens, head_dim]
  TensorView k{};            // written; one of the two may be omitted
  ConstTensorView q_from{};  // read instead of q: same dtype and shape, not overlapping q. Omitted: in place
  ConstTensorView k_from{};
  Positions positions{};
  const RotaryTable* table = nullptr;
  Direction direction = Direction::forward;

  // Packed sequences, rank 3 only: sequence s has the rows cu_seqlens[s] up to cu_seqlens[s + 1]. [sequences + 1]
  std::span<const std::int32_t> cu_seqlens{};
  // k is a paged cache of the packed sequences, rotated in place. No two rows may be in one place.
  Pages k_pages{};
  // A table for each sequence (packed, or of the batch), for rules that depend on the length; `table` is not used then.
  std::span<const RotaryTable* const> tables{};

  Parallel parallel{};  // a call on few bytes stays on its thread
  Isa isa = Isa::automatic;
  // A callback, called for every 16 MiB that a thread has done, by one thread at a time: false cancels the call.
  std::function<bool()> keep_going{};
};

// Throws Error, before anything is written, for a tensor, a position or a table that does not fit. False where
// keep_going returned false: some rows are rotated then, and others are not.
[[nodiscard]] POSENC_API bool rotate(const RotateArgs& args);

// cos and sin, both [rows, pairs], that rotate would use for these positions of one sequence: rows of the table, or
// made from its rule.
POSENC_API void cos_sin_into(const RotaryTable& table, const Positions& positions, std::span<float> cos,
                             std::span<float> sin);

// Re-rotates cached keys from one position to another: k -> R_to(to) R_from(from)^-1 k. A shift of the KV cache
// (llama.cpp's K-shift) is the case of one table; a change of base, rule or attention factor that of two.
struct RerotateArgs {
  TensorView k{};            // written; as in RotateArgs
  ConstTensorView k_from{};  // read instead of k; omitted: in place
  // Refused, saying what to do instead: each call would round the codes again (rerotation_obstacle(CacheFormat)).
  ConstQuantisedView k_quantised{};
  const RotaryTable* from_table = nullptr;
  Positions from_positions{};
  const RotaryTable* to_table = nullptr;  // rotates the same channels
  Positions to_positions{};
  std::span<const std::int32_t> cu_seqlens{};
  Pages k_pages{};
  std::span<const RotaryTable* const> from_tables{};  // one for each sequence, instead of from_table
  std::span<const RotaryTable* const> to_tables{};
  const LayerPlan* layer = nullptr;  // whose keys they are: then refused where rerotation_obstacle() says so
  Parallel parallel{};
  Isa isa = Isa::automatic;
  std::function<bool()> keep_going{};  // as in RotateArgs
};

// c and s of both rotations are combined in double and rounded to float once; each element is rounded to its dtype once
// per call. The error after n shifts: docs/rotation.md. Throws Error, and answers, as rotate does.
[[nodiscard]] POSENC_API bool rerotate(const RerotateArgs& args);

// Why cached keys of a layer cannot be re-rotated, or nothing: "a norm with weights follows the rotation", for one.
POSENC_API std::optional<std::string> rerotation_obstacle(const LayerPlan& layer);

}  // namespace posenc::inline v0_2
