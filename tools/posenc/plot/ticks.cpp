#include "plot/ticks.h"

#include <algorithm>
#include <cmath>

#include "formatted.h"
#include "text.h"

namespace posenc::tool {
namespace {

// The smallest of 1, 2, 5 times a power of ten that is at least `width`.
double round_step(double width) {
  const double power = std::pow(10.0, std::floor(std::log10(width)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (times * power >= width) return times * power;
  }
  return 10.0 * power;
}

// 20000 as 20k and 3000000 as 3M, where all of an axis are thousands.
std::string label_of(double value, bool thousands) {
  if (thousands && std::fabs(value) >= 1e6) return number(value / 1e6) + "M";
  if (thousands && std::fabs(value) >= 1e3) return number(value / 1e3) + "k";
  return number(value);
}

// Past four digits, numbers are read more easily in thousands.
bool in_thousands(double low, double high) { return std::max(std::fabs(low), std::fabs(high)) >= 1e4; }

std::vector<Tick> ticks_by(double step, double low, double high) {
  const bool thousands = in_thousands(low, high) && step >= 100.0;
  const double slack = 1e-9 * step;  // a bound that is a multiple, but for its rounding
  std::vector<Tick> ticks;
  for (double n = std::ceil((low - slack) / step); n * step <= high + slack; ++n) {
    const double value = n * step;
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
  if (!(low < high)) return {{low, number(low)}};
  return ticks_by(round_step((high - low) / (most - 1)), low, high);
}

std::vector<Tick> whole_ticks(double low, double high, int most) {
  if (!(low < high)) return {{low, number(low)}};
  return ticks_by(std::max(1.0, round_step((high - low) / (most - 1))), low, high);
}

std::vector<Tick> log_ticks(double low, double high, int most) {
  const double first = std::ceil(std::log10(low) - 1e-9);
  const double last = std::floor(std::log10(high) + 1e-9);
  const double step = std::max(1.0, std::ceil((last - first) / (most - 1)));
  const bool thousands = in_thousands(low, high);
  std::vector<Tick> ticks;
  for (double power = first - 1.0; power <= last; power += 1.0) {
    for (const double times : {1.0, 2.0, 5.0}) {
      const double value = times * std::pow(10.0, power);
      const bool shown = times == 1.0 ? std::fmod(power - first, step) == 0.0 : last - first < 2.0;
      if (shown && value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) {
        ticks.push_back({value, label_of(value, thousands)});
      }
    }
  }
  return ticks;
}

}  // namespace posenc::tool
