// Schemes that tests of several areas begin with.
#pragma once

#include <utility>

#include "posenc/rope.h"
#include "posenc/rotary_table.h"

namespace posenc::test {

// The whole head rotates, in halves.
inline Rope plain_rope(std::int64_t dim, double base = 10000.0, Scaling scaling = {}) {
  return {.pairing = Pairing::half, .head_dim = dim, .dim = dim, .base = base, .scaling = std::move(scaling)};
}

inline TableOptions range(std::int64_t start, std::int64_t count, Angles angles = Angles::exact) {
  return {.start = start, .count = count, .angles = angles};
}

}  // namespace posenc::test
