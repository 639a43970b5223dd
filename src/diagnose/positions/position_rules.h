// What makes the positions that were decoded: the expected ones, or those that a known mistake makes of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/hypothesis.h"
#include "diagnose/positions/decoded_positions.h"

namespace posenc::inline v0_2::port {

struct ExpectedPlaces {
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;
  std::vector<double> of_row;  // [rows]
  bool counted = true;         // start + token, on every sequence
  bool start_known = false;
};

struct PlacesRule {
  Places places;
  std::int64_t first = 0;     // of the first token, where the rule counts from another one than expected
  bool shifts_start = false;  // it does, and no start was said: no change then
  bool listed = false;        // no rule: one number for each token
};

// All rules that make the decoded positions of all rows; where there is none, and the positions are whole numbers
// beyond doubt, these as they are, if `without_rule`. None where all tokens are expected at one position: it says
// nothing of rules.
std::vector<PlacesRule> position_rules(const std::vector<DecodedRow>& decoded, const ExpectedPlaces& expected,
                                       bool without_rule);

// To the nearest of so many significant bits: 11 in float16, 8 in bfloat16.
double to_significant(double x, int bits);

// Positions that were made in such a format, "float16", from `first_row` on.
Change short_positions_change(const char* format, std::size_t first_row);

// Places of whose numbers so many bits are left, with that change; nothing where no more are needed.
std::optional<Places> rounded_places(Places places, const char* format, int bits);

// Positions that are `by` too large, where the first token stands at `start`.
Change offset_change(double by, double start);

// Rotated the other way, or by positions of the other sign.
Change direction_change();

}  // namespace posenc::inline v0_2::port
