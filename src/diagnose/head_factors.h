// Heads that come out longer or shorter than the others: what multiplies some of them, where the rotation is right.
#pragma once

#include <optional>

#include "diagnose/expectation.h"
#include "diagnose/samples.h"
#include "diagnose/words/explain.h"

namespace posenc::inline v0_2::port {

struct HeadFactors {
  Change change;
  double rest = 0.0;  // sum of squares that the factors leave of all heads
};

// Heads whose factor is not the plan's, beyond noise and what formats make that round to one side; nothing where all
// are such, as a factor of cos and sin makes them. Of an expectation with a rope.
std::optional<HeadFactors> head_factors(const Samples& samples, const Expectation& expected);

}  // namespace posenc::inline v0_2::port
