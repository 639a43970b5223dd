// Frequencies in turns, as the angle kernel wants them.
//
//   turns[p] = frequency[p] / (2 pi) = hi[p] + lo[p] + lowest[p] + e,   |e| < 2^-158 |turns[p]|
//
// Three doubles: among all double frequencies, a whole position x comes as near as 2^-52 / x radians to a zero of cos
// or sin, at x = 2^31 some 2^-83. Two doubles would leave an error of 2^-75 there. docs/angles.md
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace posenc::cpu {

struct Turns {
  std::vector<double> hi;      // [pairs, padded with zeros to kernels::kPadding]
  std::vector<double> lo;      // likewise, |lo| <= ulp(hi) / 2
  std::vector<double> lowest;  // likewise, |lowest| <= ulp(lo) / 2
  double near_limit = 0.0;     // kernels::AngleRows::near_limit
};

// Radians per unit of x in, each finite and at most 2^53 in magnitude.
Turns turns(std::span<const double> frequencies);

}  // namespace posenc::cpu
