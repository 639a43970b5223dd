// Conditions on parameters that several schemes share, as a Problem that the caller puts its name before: finite, above
// 0, at least some number, one divisor for each pair of channels.
#include "math/check/parameter_checks.h"

#include <cmath>
#include <cstddef>
#include <limits>

#include "base/formatted.h"

namespace posenc::math {

bool fits_float(double value) noexcept {
  // Beyond the largest float the conversion is undefined; of NaN the comparison is false.
  if (!(std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()))) return false;
  return value == 0 || static_cast<float>(value) != 0;
}

std::optional<Problem> check_float(std::string_view field, double value) {
  if (fits_float(value)) return {};
  return Problem{std::string(field), formatted("be {}", kFitsFloat), formatted("{}", value)};
}

std::optional<Problem> check_above_zero(std::string_view field, double value) {
  if (std::isfinite(value) && value > 0) return {};
  return Problem{std::string(field), "be a finite number above 0", formatted("{}", value)};
}

std::optional<Problem> check_not_negative(std::string_view field, double value) {
  if (std::isfinite(value) && value >= 0) return {};
  return Problem{std::string(field), "be a finite number of at least 0", formatted("{}", value)};
}

std::optional<Problem> check_not_negative(std::string_view field, const std::optional<double>& value) {
  return value ? check_not_negative(field, *value) : std::nullopt;
}

std::optional<Problem> check_at_least(std::string_view field, std::int64_t value, std::int64_t least) {
  if (value >= least) return {};
  return Problem{std::string(field), formatted("be at least {}", least), formatted("{}", value)};
}

std::optional<Problem> check_channels(std::int64_t channels) {
  constexpr std::int64_t kMaxChannels = std::int64_t{1} << 24;
  if (channels >= 1 && channels <= kMaxChannels) return {};
  return Problem{"channels", formatted("be from 1 to {}", kMaxChannels), formatted("{}", channels)};
}

std::optional<Problem> check_divisors(const Rope& rope, std::string_view field, const std::vector<double>& divisors) {
  if (divisors.size() != static_cast<std::size_t>(rope.pairs())) {
    return Problem{std::string(field),
                   formatted("have one number for each pair, dim / 2 = {} / 2 = {},", rope.dim, rope.pairs()),
                   formatted("{} numbers long", divisors.size())};
  }
  for (std::size_t p = 0; p < divisors.size(); ++p) {
    if (auto problem = check_above_zero(formatted("{}[{}]", field, p), divisors[p])) return problem;
  }
  return {};
}

// Rules such as YaRN place a ramp over the pairs of one ladder; with a ladder for each axis there is no such place.
std::optional<Problem> check_shared_frequencies(const Rope& rope, std::string_view rule) {
  if (rope.axis_frequencies == AxisFrequencies::shared) return {};
  return Problem{"axis_frequencies", formatted("be shared, as {} is defined over all pairs at once,", rule),
                 rope.axis_frequencies == AxisFrequencies::per_axis ? "per_axis" : "strided"};
}

}  // namespace posenc::math
