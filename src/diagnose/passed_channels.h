// Channels that a rotation leaves alone, and what multiplies them: a factor of cos and sin that was put on the whole
// head, or channels that were never written.
#pragma once

#include <optional>

#include "diagnose/samples.h"
#include "diagnose/words/explain.h"
#include "posenc/rope.h"

namespace posenc::inline v0_2::port {

struct PassedFactor {
  Change change;
  double rest = 0.0;      // sum of squares that the factor leaves of these channels
  bool explains = false;  // what is left is noise beside what the factor explains
};

// A factor other than 1 of the channels that `rope` does not rotate, beyond noise and what formats make that round to
// one side.
std::optional<PassedFactor> passed_factor(const Samples& samples, const Rope& rope);

}  // namespace posenc::inline v0_2::port
