// The plan's rope with one number that the measured frequencies say: its base, with the rule and without it; the width
// that exponents are made over; the ends of YaRN's ramp.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnose/channel_pairs.h"
#include "diagnose/expectation.h"
#include "diagnose/hypothesis.h"
#include "diagnose/screen.h"

namespace posenc::inline v0_2::port {

// Those that hold at the expected positions; a base also where positions exist that it holds at. `axis_of_pair` of the
// table's pairs, empty: one axis.
std::vector<FrequencyList> fitted_lists(const MeasuredTable& table, const Screen& screen, const Rope& rope,
                                        const ChannelPairs& pairs, const Expectation& expected,
                                        const std::vector<std::int32_t>& axis_of_pair);

// A list of a fitted base with the base that leaves least, not the one of fewest digits that was told: what these
// round away is not for arithmetic to explain. Others as they are.
FrequencyList refitted(const MeasuredTable& table, const ChannelPairs& pairs, const FrequencyList& list,
                       const Places& places, const std::vector<std::int32_t>& axis_of_pair);

}  // namespace posenc::inline v0_2::port
