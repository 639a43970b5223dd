// How fast the library computes angles, against a loop of libm's sincos in double, interleaved in one run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "posenc/info.h"
#include "posenc/rope.h"
#include "taking_turns.h"

namespace posenc::tool {

struct Contestant {
  std::string name;           // "libm", or an instruction set
  bench::Spread nanoseconds;  // per angle: one cos and one sin
  bench::Spread over_libm;    // libm's time over this one's, round by round
};

inline constexpr int kRounds = 51;
inline constexpr std::int64_t kTimedPositions = 4096;  // 2 MiB of cos and sin for 64 pairs

// libm first, then each supported instruction set. Every round lets each contestant fill the same warm buffers; the
// library's time is all of cos_sin_into: its checks and the scheme's frequencies too. Positions lie below `length`.
std::vector<Contestant> measure_speed(const Rope& rope, std::int64_t length);

}  // namespace posenc::tool
