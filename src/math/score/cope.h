// CoPE, arXiv 2405.18719, (5): a position p, counted by gates, lies between two rows of the table.
//
//   e[p] = (1 - (p - floor p)) e[floor p] + (p - floor p) e[ceil p],   p = min(sum of gates, positions - 1)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace posenc::math {

struct CopePlace {
  std::int64_t below;
  std::int64_t above;  // the same row where p is whole
  double share;        // of the row above

  // d e[p] / dp is e[above] - e[below], which is 0 for a whole p: there e has a kink, as wherever `positions` ends, and
  // this takes what the paper's program has under autograd, which interpolates between a row and itself.
};

// p: the sum of gates, not NaN.
inline CopePlace cope_place(double p, std::int64_t positions) noexcept {
  p = std::min(p, static_cast<double>(positions - 1));
  const auto below = static_cast<std::int64_t>(std::floor(p));
  return {below, static_cast<std::int64_t>(std::ceil(p)), p - static_cast<double>(below)};
}

}  // namespace posenc::math
