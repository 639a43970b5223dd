// xPos, arXiv 2212.10554: the product of pair p decays by zeta_p^((i - j) / scale_base),
//
//   zeta_p = (2p + 0.4 dim) / (1.4 dim)
//
// As published, queries take zeta^(i / scale_base) and keys zeta^(-j / scale_base): beyond 36000 positions that leaves
// f32 (f16: 4500), and an origin in the middle of each call (flash-attention) breaks cached keys. Of i - j it does
// neither.
#pragma once

#include <cmath>

#include "posenc/rope.h"

namespace posenc::math {

inline double xpos_zeta(const Rope& rope, std::int64_t pair) {
  const auto dim = static_cast<double>(rope.dim);
  return (2.0 * static_cast<double>(pair) + 0.4 * dim) / (1.4 * dim);
}

inline double xpos_decay(const XPos& scheme, std::int64_t pair, double distance) {
  return std::pow(xpos_zeta(scheme.rope, pair), distance / scheme.scale_base);
}

}  // namespace posenc::math
