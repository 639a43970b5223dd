// The place itself: p_i = (i, ..., i), or i/n in a sequence of n tokens.
//
// No model does it; it is where courses begin. The place grows beyond the embedding, whose numbers are about 1; i/n
// does not, but its steps depend on the length, so that the distance of two tokens is told differently in every
// sequence. Courses count from 1 (offset 1), where i/n ends at 1, or from 0.
#include <cmath>

#include "base/formatted.h"
#include "math/check/parameter_checks.h"
#include "posenc/input.h"

namespace posenc::inline v0_2 {

std::vector<double> input_row(const IntegerInput& scheme, std::int64_t channels, double place,
                              std::optional<std::int64_t> length) {
  auto problem = math::check_channels(channels);
  if (!problem && !std::isfinite(place)) {
    problem = Problem{"place", "be a finite number", formatted("{}", place)};
  }
  if (!problem && scheme.normalised && !length) {
    problem = Problem{"length", "be given to a normalised encoding", "omitted"};
  }
  if (!problem && scheme.normalised) problem = math::check_at_least("length", *length, 1);
  if (problem) throw Error("input_row", *problem);
  const double number = place + static_cast<double>(scheme.offset);
  return std::vector<double>(static_cast<std::size_t>(channels),
                             scheme.normalised ? number / static_cast<double>(*length) : number);
}

}  // namespace posenc::inline v0_2
