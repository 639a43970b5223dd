// Coordinates of tokens that have several, as ports get them wrong: all of them, or those of one axis, off by as much,
// doubled, negated, or counted by token as those of text are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "diagnose/expectation.h"
#include "diagnose/hypothesis.h"

namespace posenc::inline v0_2::port {

// Nothing where tokens have one coordinate. `axis_of_pair` of the table's pairs.
std::vector<Places> other_places(const MeasuredTable& table, const FrequencyList& plan,
                                 const std::vector<std::int32_t>& axis_of_pair, const Expectation& expected);

// The coordinates that each axis's own pairs say, and what they are instead of the expected ones, axis by axis. Nothing
// where they say the expected ones, or are no whole numbers beyond doubt.
std::optional<Places> decoded_axes(const MeasuredTable& table, const FrequencyList& plan,
                                   const std::vector<std::int32_t>& axis_of_pair, const Expectation& expected);

}  // namespace posenc::inline v0_2::port
