// What measurements say, for people and as JSON.
#pragma once

#include <string>

#include "posenc/info.h"
#include "taking_turns.h"

namespace posenc::tool {

// spread_text divides by `unit` (1e-6: seconds as microseconds) and prints so many digits behind the point.
std::string three_digits(double value);                                         // 0.97, 12.3, 456
std::string ratio_text(const bench::Spread& spread);                            // "1.14 (0.93 to 1.23)"
std::string spread_text(const bench::Spread& spread, double unit, int digits);  // "305 (297 to 341)"
std::string machine_text(Isa isa);                                              // "AMD EPYC; avx512 kernels, Release"

std::string spread_json(const bench::Spread& spread);  // {"median": ..., "min": ..., "max": ...}

}  // namespace posenc::tool
