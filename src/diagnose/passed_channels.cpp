#include "diagnose/passed_channels.h"

#include <cmath>
#include <cstdint>

#include "base/formatted.h"
#include "diagnose/noise.h"

namespace posenc::inline v0_2::port {
namespace {

// A factor explains what differs where it leaves a sixteenth of the squares, a quarter of the amplitude.
constexpr double kExplains = 16.0;

template <typename Do>
void each_passed(const Samples& samples, const Rope& rope, Do act) {
  for (std::int64_t r = 0; r < samples.rows(); ++r) {
    for (std::int64_t h = 0; h < samples.heads; ++h) {
      const double* x = samples.x(r, h);
      const double* y = samples.y(r, h);
      for (std::int64_t c = 0; c < samples.channels; ++c) {
        if (c < rope.first_channel || c >= rope.first_channel + rope.dim) act(x[c], y[c]);
      }
    }
  }
}

}  // namespace

std::optional<PassedFactor> passed_factor(const Samples& samples, const Rope& rope) {
  if (samples.channels != rope.head_dim) return {};
  double xx = 0.0;
  double xy = 0.0;
  double unscaled = 0.0;
  each_passed(samples, rope, [&](double x, double y) {
    xx += x * x;
    xy += x * y;
    unscaled += (y - x) * (y - x);
  });
  if (!(xx > 0)) return {};
  // y = s x + e by least squares, where the variance of s is sum x^2 e^2 / (sum x^2)^2, whatever e goes with.
  const double s = xy / xx;
  double rest = 0.0;
  double spread = 0.0;
  each_passed(samples, rope, [&](double x, double y) {
    const double e = y - s * x;
    rest += e * e;
    spread += x * x * (e * e + rounding_variance(samples.after_unit, y * y));
  });
  const double off = std::fabs(s - 1);
  const double deviation = std::sqrt(spread) / xx;
  if (off <= kOneSided * samples.after_unit || off <= std::sqrt(2 * level_of(1)) * deviation) return {};
  return PassedFactor{
      {PortFact::attention_factor, formatted("{:.6g} on the channels that are not rotated", s),
       "1: they stay as they are", "multiply rotated channels alone by the factor, and copy the others"},
      rest,
      rest * kExplains <= unscaled};
}

}  // namespace posenc::inline v0_2::port
