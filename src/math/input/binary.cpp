// The place in binary: p_i[c] = bit d - 1 - c of i, so that the last channel changes at every step and the first one
// every 2^(d-1). Two places below 2^d never share a row; beyond them they would, so those are refused.
//
// No model does it; it is the step between integers and sinusoids, whose channels change at geometric rates too, but
// smoothly: here a step from 2^k - 1 to 2^k changes k + 1 channels at once. Courses also write the lowest bit first.
#include <algorithm>

#include "base/formatted.h"
#include "math/check/parameter_checks.h"
#include "posenc/input.h"

namespace posenc::inline v0_2 {
namespace {

constexpr std::int64_t kPlaceBits = 63;  // of an int64_t that is not negative

}  // namespace

std::vector<double> input_row(const BinaryInput& scheme, std::int64_t channels, std::int64_t place) {
  if (auto problem = math::check_channels(channels)) throw Error("input_row", *problem);
  std::int64_t number = 0;
  const bool overflows = __builtin_add_overflow(place, scheme.offset, &number);
  const std::int64_t last = channels < kPlaceBits ? (std::int64_t{1} << channels) - 1 : INT64_MAX;
  if (overflows || number < 0 || number > last) {
    throw Error("input_row", {"place + offset", formatted("lie from 0 to {}, the last of {} bits,", last, channels),
                              overflows ? "beyond 2^63" : formatted("{}", number)});
  }
  std::vector<double> row(static_cast<std::size_t>(channels), 0.0);
  for (std::int64_t bit = 0; bit < std::min(channels, kPlaceBits); ++bit) {
    row[static_cast<std::size_t>(channels - 1 - bit)] = static_cast<double>((number >> bit) & 1);
  }
  return row;
}

}  // namespace posenc::inline v0_2
