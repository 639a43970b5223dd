// Heads that do not share their angles: some are rotated and others not, or each stands at a place of its own.
#pragma once

#include <optional>

#include "diagnose/channel_pairs.h"
#include "diagnose/expectation.h"
#include "diagnose/hypothesis.h"
#include "diagnose/words/explain.h"

namespace posenc::inline v0_2::port {

struct HeadsApart {
  Change change;
  double rest = 0.0;    // sum of squares that is left, of all heads
  double misfit = 0.0;  // that over the variance of noise: weighing.h
};

// What every head does by itself at the plan's frequencies: as the plan, not rotated or twice, or at the token's place
// and its own number; where all are one of these, and not all the same. Nothing without a plan. `shared`: the table of
// all heads, whose noise each of them has; null where they do not share their angles, which is no noise.
std::optional<HeadsApart> heads_apart(const Samples& samples, const ChannelPairs& pairs, const MeasuredTable* shared,
                                      const Expectation& expected);

// Whether heads apart say more than what explains the mean of all heads. The mean of angles that heads do not share
// looks like an angle of its own: of a head that is rotated and of one that is not, like half of the frequency.
enum class Against : std::uint8_t { less, as_much, more };
Against against_shared(const Samples& samples, const ChannelPairs& pairs, const MeasuredTable& shared,
                       const HeadsApart& apart, const Explained& explained);

}  // namespace posenc::inline v0_2::port
