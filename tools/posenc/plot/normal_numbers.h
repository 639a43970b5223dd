// Random numbers for pictures of what a model would learn: the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

namespace posenc::tool {

// Mean 0, variance 1.
std::vector<double> normal_numbers(std::uint64_t seed, std::int64_t count);

}  // namespace posenc::tool
