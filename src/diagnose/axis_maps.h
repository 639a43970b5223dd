// Which coordinate rotates which pair, as the plan says and as ports get it wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "diagnose/channel_pairs.h"
#include "diagnose/hypothesis.h"

namespace posenc::inline v0_2::port {

// Over the pairs of a table; empty: one axis.
std::vector<std::int32_t> axes_over(const std::vector<std::int32_t>& of_pair, const Rope& rope,
                                    const ChannelPairs& pairs);

struct AxisChoice {
  std::vector<std::int32_t> of_pair{};  // of the table
  std::vector<Change> changes{};
};

// The plan's map of axes first, then what ports do instead: one axis for all, axes exchanged, the same numbers of pairs
// in runs or in turn.
std::vector<AxisChoice> axis_choices(const Rope& rope, const ChannelPairs& pairs);

// The axis by which each pair turns, as measured, where that is not the plan's map: other numbers of pairs, in whatever
// order. Nothing where the table's pairs are not the rope's, and where the rope has one axis.
std::optional<AxisChoice> measured_axes(const MeasuredTable& table, const FrequencyList& plan, const Places& places,
                                        const Rope& rope, const ChannelPairs& pairs);

}  // namespace posenc::inline v0_2::port
