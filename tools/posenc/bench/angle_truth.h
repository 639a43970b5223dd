// An independent answer to cos and sin of position * inv_freq, to judge the library's tables by. Nothing is shared
// with the library: the product and its remainder modulo a quarter turn are integers of up to 384 bits.
#pragma once

#include <cstdint>
#include <vector>

namespace posenc::tool {

struct CosAndSin {
  double cos = 1.0;
  double sin = 0.0;
};

// Relative error of each: below 4 * 2^-53 (see the source), which is 2^-27 ulp of a float. |inv_freq| < 2^52,
// |position| <= 2^53.
CosAndSin true_cos_sin(std::int64_t position, double inv_freq);
constexpr double kTruthErrorInUlp = 0x1p-27;

// Positions up to `limit` at which the angle comes nearest to a whole number of quarter turns, where cos or sin is
// hardest: the denominators of the continued fraction of 2 inv_freq / pi.
std::vector<std::int64_t> hardest_positions(double inv_freq, std::int64_t limit);

}  // namespace posenc::tool
