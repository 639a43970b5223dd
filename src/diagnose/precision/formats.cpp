#include "diagnose/precision/formats.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace posenc::inline v0_2::port {
namespace {

// Whether x is a number of `bits` significant bits whose last place is at least 2^least.
bool holds(double x, int bits, int least) {
  if (x == 0.0) return true;
  int exponent = 0;
  std::frexp(x, &exponent);
  const double scaled = std::ldexp(x, -std::max(exponent - bits, least));
  return scaled == std::nearbyint(scaled);
}

// Formats from the narrowest on; a tensor of one that was saved as another keeps its own.
struct Format {
  int bits;
  int least;
  double largest;
};
constexpr std::array<Format, 3> kFormats{Format{8, -133, 0x1.fep127}, Format{11, -24, 65504.0},
                                         Format{24, -149, 0x1.fffffep127}};

}  // namespace

double unit_of(const std::vector<double>& values) {
  for (const Format& format : kFormats) {
    const bool fits = std::ranges::all_of(
        values, [&](double x) { return std::fabs(x) <= format.largest && holds(x, format.bits, format.least); });
    if (fits) return std::ldexp(1.0, -format.bits);
  }
  // Eight roundings of doubles, those of this library among them.
  return 0x1p-50;
}

double rounded_to(const ShortFormat& format, double x) {
  if (x == 0.0) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  const int last = std::max(exponent - format.bits, format.least);
  const double places = std::ldexp(x, -last);
  return std::ldexp(format.truncates ? std::trunc(places) : std::nearbyint(places), last);
}

}  // namespace posenc::inline v0_2::port
