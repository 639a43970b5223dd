// posenc bench rotate and posenc demo: one case. The three candidates alternate on the same bytes (taking_turns.h), and
// each runs once before it is timed, so that caches are as it leaves them.
#include "bench/rotation_speed.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <vector>

#include "bench/timed_numbers.h"
#include "huge_memory.h"
#include "posenc/rotary_table.h"
#include "posenc/rotate.h"
#include "tensors/byte_parts.h"
#include "xor_in_place.h"

namespace posenc::tool {
namespace {

using bench::Candidate;
using bench::HugeMemory;

constexpr std::int64_t kFirst = 777;  // position
// What is timed at once, so that the clock's third of a microsecond does not count: 4 MiB, at most so many calls.
constexpr std::size_t kTimedBytes = std::size_t{4} << 20U;
constexpr std::size_t kTimedRotations = 256;

// `pool`: null for one thread. q and k lie one after the other, each in whole blocks.
RotationSpeed measure(const SpeedCase& which, const ThreadPool* pool) {
  const std::int64_t row = which.rope.head_dim * bytes_of(which.dtype);
  const std::size_t q_bytes = whole_blocks(which.tokens * which.heads * row);
  const std::size_t k_bytes = whole_blocks(which.tokens * which.kv_heads * row);
  const std::size_t bytes = q_bytes + k_bytes;
  const HugeMemory x(bytes);
  const HugeMemory y(bytes, 17 * 64);  // loads and stores 4 KiB apart would wait for each other
  fill(x.data(), bytes, which.dtype);

  const ByteParts parts(pool);
  const RotaryTable table = make_table(which.rope, {.start = kFirst, .count = which.tokens});
  void* const keys = x.data() + q_bytes;
  RotateArgs args{
      .q = tensor(static_cast<void*>(x.data()), which.dtype, {which.tokens, which.heads, which.rope.head_dim}),
      .k = tensor(keys, which.dtype, {which.tokens, which.kv_heads, which.rope.head_dim}),
      .positions = PositionRange{kFirst},
      .table = &table,
      .parallel = parts.parallel()};
  // Plans give 0 for what they do not know.
  if (which.kv_heads == 0) args.k = {};
  // There and back in turn: an attention factor would make the numbers grow beyond all bounds.
  const auto rotation = [&] {
    (void)rotate(args);
    args.direction = args.direction == Direction::forward ? Direction::inverse : Direction::forward;
  };
  const auto rmw = [&] {
    parts.run(bytes, [&](std::size_t from, std::size_t count) { bench::xor_in_place(x.data() + from, count); });
  };
  const auto copy = [&] {
    parts.run(bytes,
              [&](std::size_t from, std::size_t count) { std::memcpy(y.data() + from, x.data() + from, count); });
    asm volatile("" : : "r"(y.data()) : "memory");  // somebody may read the copy
  };
  const int calls = static_cast<int>(std::clamp<std::size_t>(kTimedBytes / bytes, 1, kTimedRotations));
  const auto candidate = [&](const char* name, const std::function<void()>& run) {
    return Candidate{.name = name, .run = run, .calls = calls, .before = run};
  };
  std::vector<Candidate> candidates{candidate("rotate", rotation), candidate("xor", rmw), candidate("memcpy", copy)};
  bench::take_turns(candidates, kSpeedRounds, pool == nullptr ? bench::thread_seconds : bench::wall_seconds);
  return {.bytes = static_cast<std::int64_t>(bytes),
          .rotate = bench::spread(candidates[0].seconds),
          .rmw = bench::spread(candidates[1].seconds),
          .copy = bench::spread(candidates[2].seconds),
          .over_rmw = bench::ratios(candidates[0], candidates[1]),
          .over_copy = bench::ratios(candidates[0], candidates[2])};
}

}  // namespace

RotationSpeed measure_rotation(const SpeedCase& which) { return measure(which, nullptr); }

RotationSpeed measure_rotation(const SpeedCase& which, const ThreadPool& pool) { return measure(which, &pool); }

}  // namespace posenc::tool
