// Tests of one number each, for what a sum of squares over many cells hides: a pair whose frequency is another, a token
// or an axis at another position. To first order such a change turns a cell's angle by a known direction g,
//
//   T = sum u g d / sqrt(sum u g^2),   d = Im(conj(z) c) / |z|^2,   u = w |z|^2 / variance
//
// is standard normal where the hypothesis is true, up to what float32 angles and the dtype of `after` turn alike.
#pragma once

#include "diagnose/hypothesis.h"

namespace posenc::inline v0_2::port {

enum class Suspicion : std::uint8_t {
  none,
  // One true hypothesis of a thousand looks like this; or a pair that turns is measured so badly that a frequency of a
  // third more would not show.
  open,
  wrong,  // one of a million
};

Suspicion suspicion(const MeasuredTable& table, const Hypothesis& hypothesis);

}  // namespace posenc::inline v0_2::port
