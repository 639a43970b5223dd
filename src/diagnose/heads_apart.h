// Heads that do not share their angles: some are rotated and others not, or each stands at a place of its own.
#pragma once

#include <optional>

#include "diagnose/channel_pairs.h"
#include "diagnose/expectation.h"
#include "diagnose/hypothesis.h"

namespace posenc::inline v0_2::port {

struct HeadsApart {
  Change change;
  double rest = 0.0;  // sum of squares that is left, of all heads
};

// What every head does by itself at the plan's frequencies: as the plan, not rotated, or at the token's place and its
// own number; where all are one of these, and not all the same. Nothing without a plan.
std::optional<HeadsApart> heads_apart(const Samples& samples, const ChannelPairs& pairs, const Expectation& expected);

}  // namespace posenc::inline v0_2::port
