// YaRN's ramp as ports get it wrong. The ramp goes over pairs, between the ones that turn beta_fast and beta_slow times
// in the original length L (arXiv 2309.00071; src/math/rope/yarn.cpp has the right one):
//
//   c(r) = dim ln(L / (2 pi r)) / (2 ln base)
#pragma once

#include <optional>
#include <vector>

#include "diagnose/channel_pairs.h"
#include "diagnose/free_frequencies.h"
#include "diagnose/hypothesis.h"

namespace posenc::inline v0_2::port {

// Of a rope with YaRN's rule, `plan` its frequencies: the ramp's ends exchanged, by logarithms of two bases, without
// 2 pi or without the 2. Nothing for other rules.
std::vector<FrequencyList> misread_yarn(const FrequencyList& plan, const Rope& rope, const ChannelPairs& pairs);

// The ramp that measured frequencies say, between whole pairs first, then between any. Nothing for other rules, and
// where no two pairs within a ramp were measured well.
std::vector<FrequencyList> fitted_yarn(const FreeFrequencies& measured, const FrequencyList& plan, const Rope& rope,
                                       const ChannelPairs& pairs);

}  // namespace posenc::inline v0_2::port
