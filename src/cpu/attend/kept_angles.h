// Cos and sin of a call's rows, computed once before the pass: the blocks of all heads need the same.
#pragma once

#include <cstdint>

#include "cpu/attend/attend_call.h"
#include "cpu/call/keep_going.h"

namespace posenc::cpu {

// How many rows' angles a pass asks for, those that several blocks or heads share counted each time.
struct AskedRows {
  std::int64_t queries = 0;
  std::int64_t keys = 0;
};

// Fills CallRotation::of_queries and of_keys with the threads that the call allows, where rows rotate as they stand,
// are asked for twice or more on average, and take no more than kMostKeptBytes together: of what is not kept, each
// tile's are written when it passes.
void keep_angles(AttendCall& call, const AskedRows& asked, KeepGoing& keep_going);

// Cos and sin of 16384 queries and keys of 64 pairs: beside 131072 tokens, whose scratch a call keeps below 46 MiB,
// they would be 128.
inline constexpr std::int64_t kMostKeptBytes = std::int64_t{16} << 20;

}  // namespace posenc::cpu
