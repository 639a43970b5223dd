// What shifts leave of keys: rotated and stored again each time, against stored once before RoPE.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "posenc/cache/study_cache.h"

namespace posenc::reuse {

// How often: where errors are looked at.
const std::vector<std::int64_t>& simulated_shifts();

// For each format that the head's channels fit. `length`: of the sequence, for rules that depend on it.
std::vector<SimulatedShifts> simulate(const Rope& rope, std::optional<std::int64_t> length, std::int64_t shift_by);

}  // namespace posenc::reuse
