// xPos, arXiv 2212.10554: the product of pair p decays by zeta_p^((i - j) / scale_base),
//
//   zeta_p = (2p + 0.4 dim) / (1.4 dim)
//
// As published, queries take zeta^(i / scale_base) and keys zeta^(-j / scale_base): beyond 36000 positions that leaves
// f32 (f16: 4500), and an origin in the middle of each call (flash-attention) breaks cached keys. Of i - j it does
// neither.
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include "posenc/error.h"
#include "posenc/rope.h"

namespace posenc::math {

inline double xpos_zeta(const Rope& rope, std::int64_t pair) {
  const auto dim = static_cast<double>(rope.dim);
  return (2.0 * static_cast<double>(pair) + 0.4 * dim) / (1.4 * dim);
}

inline double xpos_decay(const XPos& scheme, std::int64_t pair, double distance) {
  return std::pow(xpos_zeta(scheme.rope, pair), distance / scheme.scale_base);
}

// attend holds a pair's decay over 64 neighbours, a tile of keys, in floats: at most e^80 (attend_call.cpp). The first
// pair decays fastest, by zeta_0 = 0.4 / 1.4, and 64 * 1.253 is 80.
inline std::optional<Problem> check_decay(const XPos& scheme) {
  if (scheme.scale_base >= 1) return {};
  return Problem{"scale_base", "be at least 1", std::to_string(scheme.scale_base)};
}

}  // namespace posenc::math
