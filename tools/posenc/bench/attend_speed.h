// How fast a layer attends, against what limits it: the peak FLOP/s of the machine's cores
// (bench/multiply_add.h), and its memory bandwidth: one pass over the same keys and values (bench/read_memory.h). And
// against the same layer without positions, in the same kernel. docs/performance.md says why these.
#pragma once

#include <cstdint>
#include <optional>

#include "attend/attend_tables.h"
#include "posenc/attend.h"
#include "posenc/info.h"
#include "posenc/parallel.h"
#include "posenc/plan.h"
#include "taking_turns.h"

namespace posenc::tool {

// q [queries, heads, head_dim] over k [keys, kv_heads, head_dim] and v [keys, kv_heads, value_dim]; the last query
// stands with the last key. Where there are more keys than queries they lie in a KV cache, rotated already.
struct AttendSpeedCase {
  const LayerPlan& layer;
  const LayerTables& tables;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  DType dtype = DType::f32;
  Products products = Products::f32;  // allowed
  bool backward = false;              // timed too
};

// With gradients of q, k, v and of everything that the layer has learned.
struct BackwardSpeed {
  double operations = 0.0;         // as AttendSpeed's: scores again, and four products of their size
  bench::Spread backward;          // seconds of one call
  bench::Spread of_multiply_adds;  // as AttendSpeed's
  bench::Spread over_attend;       // time over that of the forward pass
};

struct AttendSpeed {
  double operations = 0.0;  // multiplications and additions of the unmasked pairs, exactly
  std::int64_t bytes = 0;   // of the keys and values that some query attends to
  bench::Spread attend;     // seconds of one call
  // Of the limits, round by round: the multiply-adds in a second over those that touch no memory; the time that only
  // reads over attend's.
  bench::Spread of_multiply_adds;
  bench::Spread of_reading;
  std::optional<bench::Spread> over_plain;  // time over that without positions; nothing of a layer that has none
  std::optional<BackwardSpeed> backward;    // if asked for
};

// Odd: the median is one of the rounds.
inline constexpr int kAttendRounds = 9;

// The tokens of a layer whose scheme knows a window of rows and columns: all of that, at its places.
std::optional<std::int64_t> grid_tokens(const LayerPlan& layer);

// The layer without rotation, terms, regions and scales of queries by position; its mask, softcap and sinks stay.
LayerPlan without_positions(const LayerPlan& layer);

// On one thread, of which it is the CPU time; or on the threads of a pool, where it is wall-clock time.
AttendSpeed measure_attention(const AttendSpeedCase& which, Isa isa, const ThreadPool* pool);

}  // namespace posenc::tool
