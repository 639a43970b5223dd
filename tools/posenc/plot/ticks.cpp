// A step is 1, 2 or 5 times a power of ten, and no less than what would lie between `most` ticks evenly spread. Bounds
// may be as far apart, or as near each other, as doubles can be: tests/cli/parts/ticks_test.cpp.
#include "plot/ticks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "line/formatted.h"
#include "line/text.h"

namespace posenc::tool {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
constexpr double kSlack = 1e-9;  // of a step, or of a bound: it may be a multiple, but for its rounding

// An infinite bound is drawn as the last number there is.
double finite(double bound) { return std::clamp(bound, -kLargest, kLargest); }

// The smallest of 1, 2, 5 times a power of ten that is at least `width`, no more than a number can be.
double round_step(double width) {
  const double power = std::pow(10.0, std::floor(std::log10(width)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (times * power >= width) return std::clamp(times * power, kSmallest, kLargest);
  }
  return std::clamp(10.0 * power, kSmallest, kLargest);
}

// Between two of `most` ticks, evenly spread.
double least_step(double low, double high, int most) {
  // high - low overflows where both are near the ends of double: then the difference of the quotients.
  const double width = (high - low) / (most - 1);
  return round_step(std::isinf(width) ? high / (most - 1) - low / (most - 1) : width);
}

// 20000 as 20k and 3000000 as 3M, where all of an axis are thousands.
std::string label_of(double value, bool thousands) {
  if (thousands && std::fabs(value) >= 1e6) return number(value / 1e6) + "M";
  if (thousands && std::fabs(value) >= 1e3) return number(value / 1e3) + "k";
  return number(value);
}

// Past four digits, numbers are read more easily in thousands; past twelve, by their powers of ten.
bool in_thousands(double low, double high) {
  const double largest = std::max(std::fabs(low), std::fabs(high));
  return largest >= 1e4 && largest < 1e12;
}

// At most `most`; they are counted, as n + 1 may be n where bounds are large and next to each other.
std::vector<Tick> ticks_by(double step, double low, double high, int most) {
  const bool thousands = in_thousands(low, high) && step >= 100.0;
  const double first = std::ceil(low / step - kSlack);
  const double last = high / step + kSlack;
  std::vector<Tick> ticks;
  for (int k = 0; k < most && first + k <= last; ++k) {
    const double value = (first + k) * step;
    if (!std::isfinite(value) || (!ticks.empty() && value <= ticks.back().value)) continue;
    // n * step carries a rounding that would be printed: digits as the step has them.
    const int digits = std::max(0, static_cast<int>(-std::floor(std::log10(step))));
    const double shown =
        digits > 0 && digits < 12 ? std::round(value * std::pow(10.0, digits)) / std::pow(10.0, digits) : value;
    ticks.push_back({value, label_of(shown == 0.0 ? 0.0 : shown, thousands)});
  }
  return ticks;
}

}  // namespace

std::vector<Tick> linear_ticks(double low, double high, int most) {
  low = finite(low), high = finite(high);
  if (!(low < high)) return {{low, number(low)}};
  return ticks_by(least_step(low, high, most), low, high, most);
}

std::vector<Tick> whole_ticks(double low, double high, int most) {
  low = finite(low), high = finite(high);
  if (!(low < high)) return {{low, number(low)}};
  return ticks_by(std::max(1.0, least_step(low, high, most)), low, high, most);
}

std::vector<Tick> log_ticks(double low, double high, int most) {
  low = std::clamp(low, kSmallest, kLargest), high = std::clamp(high, kSmallest, kLargest);
  const double first = std::ceil(std::log10(low) - kSlack);
  const double last = std::floor(std::log10(high) + kSlack);
  const double step = std::max(1.0, std::ceil((last - first) / (most - 1)));
  const bool thousands = in_thousands(low, high);
  std::vector<Tick> ticks;
  // From the power below: 2 and 5 times it may lie within the bounds.
  for (double power = first - 1.0; power <= last; power += 1.0) {
    for (const double times : {1.0, 2.0, 5.0}) {
      const double value = times * std::pow(10.0, power);
      // Of the powers every `step`-th; 2 and 5 times them where fewer than three powers fit.
      const bool shown = times == 1.0 ? std::fmod(power - first, step) == 0.0 : last - first < 2.0;
      if (shown && std::isfinite(value) && value >= low * (1 - kSlack) && value <= high * (1 + kSlack)) {
        ticks.push_back({value, label_of(value, thousands)});
      }
    }
  }
  return ticks;
}

}  // namespace posenc::tool
