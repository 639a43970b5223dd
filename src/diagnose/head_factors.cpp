#include "diagnose/head_factors.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/formatted.h"
#include "diagnose/noise.h"
#include "diagnose/planned_rotation.h"
#include "diagnose/words/few.h"

namespace posenc::inline v0_2::port {
namespace {

// A quantiser of few bits follows what it stores: of what it leaves, a quarter may be a factor.
constexpr double kOfRest = 0.25;

struct Fitted {
  double factor = 1.0;
  double rest = 0.0;
  bool is_apart = false;
};

// y = s p + e by least squares, where the variance of s is sum p^2 e^2 / (sum p^2)^2, whatever e goes with.
Fitted fitted(const Samples& samples, const std::vector<double>& planned, std::int64_t head) {
  const auto each = [&](auto act) {
    for (std::int64_t r = 0; r < samples.rows(); ++r) {
      const double* p = planned.data() + (r * samples.heads + head) * samples.channels;
      const double* y = samples.y(r, head);
      for (std::int64_t c = 0; c < samples.channels; ++c) act(p[c], y[c]);
    }
  };
  double pp = 0.0;
  double py = 0.0;
  each([&](double p, double y) {
    pp += p * p;
    py += p * y;
  });
  if (!(pp > 0)) return {};
  Fitted out{.factor = py / pp};
  double spread = 0.0;
  each([&](double p, double y) {
    const double e = y - out.factor * p;
    out.rest += e * e;
    spread += p * p * (e * e + rounding_variance(samples.after_unit, y * y));
  });
  const double off = std::fabs(out.factor - 1);
  const double by_noise = std::sqrt(2 * level_of(static_cast<double>(samples.heads)) * spread) / pp;
  out.is_apart = off > kOneSided * samples.after_unit && off > by_noise && off > kOfRest * std::sqrt(out.rest / pp);
  return out;
}

}  // namespace

std::optional<HeadFactors> head_factors(const Samples& samples, const Expectation& expected) {
  if (samples.heads < 2 || samples.channels != expected.rope->head_dim) return {};
  const std::vector<double> planned = rotated_as_planned(samples, samples.before, expected, Way::forth);
  std::vector<std::int64_t> apart;
  std::vector<double> factors;
  HeadFactors out;
  for (std::int64_t h = 0; h < samples.heads; ++h) {
    const Fitted of = fitted(samples, planned, h);
    out.rest += of.rest;
    if (!of.is_apart) continue;
    apart.push_back(h);
    factors.push_back(of.factor);
  }
  if (apart.empty() || std::ssize(apart) == samples.heads) return {};
  const auto [least, most] = std::ranges::minmax(factors);
  const std::string sizes =
      most - least <= 0.01 * std::fabs(most) ? formatted("{:.4g}", least) : formatted("{:.4g} to {:.4g}", least, most);
  out.change = {PortFact::attention_factor, formatted("{} times the plan's in heads {}", sizes, few_of(apart)),
                "the plan's in all heads", "look at what multiplies these heads alone, before or after the rotation"};
  return out;
}

}  // namespace posenc::inline v0_2::port
