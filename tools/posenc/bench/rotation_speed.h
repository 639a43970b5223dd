// How fast this machine applies RoPE to queries and keys in place, against what limits it: the same bytes combined with
// a constant by integer XOR (bench/xor_in_place.h), and copied. docs/performance.md says why these.
#pragma once

#include <cstdint>

#include "posenc/parallel.h"
#include "posenc/rope.h"
#include "posenc/tensor.h"
#include "taking_turns.h"

namespace posenc::tool {

// q [tokens, heads, head_dim] and k [tokens, kv_heads, head_dim], one after the other in memory, rotated by a held
// table.
struct SpeedCase {
  const Rope& rope;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t tokens = 0;
  DType dtype = DType::f32;
};

struct RotationSpeed {
  std::int64_t bytes = 0;
  bench::Spread rotate;  // seconds of one call
  bench::Spread rmw;
  bench::Spread copy;
  bench::Spread over_rmw;  // rotate's time over that of XOR in place, round by round
  bench::Spread over_copy;
};

inline constexpr int kSpeedRounds = 11;

// On one thread, of which it is the CPU time; or on the threads of a pool, each of which has as many bytes: then
// wall-clock time. Caches are warm: what is timed has just passed over the same bytes.
RotationSpeed measure_rotation(const SpeedCase& which);
RotationSpeed measure_rotation(const SpeedCase& which, const ThreadPool& pool);

}  // namespace posenc::tool
