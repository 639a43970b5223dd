// The rotation of one pair of channels, and which channels a pair has. RoFormer, arXiv 2104.09864, (13) and (34).
//
//   (a, b) -> (a cos t - b sin t, a sin t + b cos t)      counter-clockwise by t = position * inv_freq[p]
//
// In complex numbers: a + ib -> (a + ib) e^(it). An attention factor multiplies cos and sin before they come here.
#pragma once

#include <cstdint>

#include "posenc/rope.h"

namespace posenc::math {

struct PairChannels {
  std::int64_t a;
  std::int64_t b;
};

// Channels of pair p within a head. half: p and p + dim/2; interleaved: 2p and 2p + 1; both from first_channel on.
constexpr PairChannels channels_of_pair(Pairing pairing, std::int64_t first_channel, std::int64_t dim,
                                        std::int64_t pair) noexcept {
  if (pairing == Pairing::half) return {first_channel + pair, first_channel + pair + dim / 2};
  return {first_channel + 2 * pair, first_channel + 2 * pair + 1};
}

template <typename Real>
struct Plane {
  Real a;
  Real b;
};

template <typename Real>
constexpr Plane<Real> rotated(Plane<Real> x, Real cos, Real sin) noexcept {
  return {x.a * cos - x.b * sin, x.a * sin + x.b * cos};
}

// The transpose, which takes the gradient of what was rotated to that of x: by -t.
template <typename Real>
constexpr Plane<Real> rotated_back(Plane<Real> d, Real cos, Real sin) noexcept {
  return rotated(d, cos, -sin);
}

// dL/dt of a pair that was rotated to y by t, whose gradient is d: dy/dt is y, turned a quarter further. By the chain
// rule dL/d inv_freq[p] is the sum of it times the position.
template <typename Real>
constexpr Real angle_gradient(Plane<Real> y, Plane<Real> d) noexcept {
  return d.b * y.a - d.a * y.b;
}

}  // namespace posenc::math
