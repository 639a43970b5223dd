// From a measured table to what explains it: hypotheses by how much they assume, the fewest changes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diagnose/expectation.h"
#include "diagnose/hypothesis.h"
#include "diagnose/tried_frequencies.h"

namespace posenc::inline v0_2::port {

struct Explanation {
  FrequencyList frequencies;
  Places places;
  std::vector<std::int32_t> axis_of_pair{};
  std::vector<Change> changes{};  // of the plan, all together
  Steps steps = Steps::exact;
  double rest = 0.0;
  // Of frequencies that hold from a row on only; before it the plan holds. Or up to a row, from where on it does.
  std::optional<std::size_t> first_row{};
  std::optional<std::size_t> end_row{};
  std::int64_t first_position = 0;
  bool shifts_start = false;  // holds from another first position, and none was said
  bool listed = false;        // positions that follow no rule: one number for each token
  bool guess = false;         // a rule that nothing in the plan suggests: it explains, but is no rival of the plan
};

struct Explained {
  std::vector<Explanation> as_good;  // equally simple, none of which the data rejects; none: nothing known explains it
  std::vector<std::string> alike;    // changes that would make the same numbers here, a sentence each
  // The plan is within noise, but one number of it looks off, as those of one right port in a thousand do, or noise
  // hides whether it is.
  bool suspect = false;
};

// With a rope: the plan, then one thing changed, and so on.
Explained explain(const MeasuredTable& table, const ChannelPairs& pairs, const Expectation& expected);

// Without: bases, and rules with the numbers that models have.
Explained recover(const MeasuredTable& table, const ChannelPairs& pairs, const Expectation& expected);

}  // namespace posenc::inline v0_2::port
