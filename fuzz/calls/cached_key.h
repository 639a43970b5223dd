// What a key in a cache must be: normalised and rotated in double, with what the kernels may be off (tolerances.h, Keys
// into a cache).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fuzz/calls/rotations.h"
#include "posenc/cache.h"
#include "support/tolerances.h"

namespace posenc::fuzz {

// The heads of one token, [heads, head_dim]; lanes: floats in a register. Nothing where there is no bound: a table of
// which nothing is promised, or numbers whose squares vanish beside their errors.
std::optional<test::Row> cached_key(std::span<const double> x, std::int64_t head_dim,
                                    const std::optional<KeyNorm>& norm, const Rotation* rotation,
                                    std::span<const double> coordinates, double lanes);

}  // namespace posenc::fuzz
