#include "diagnose/free_frequencies.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace posenc::inline v0_2::port {

FreeFrequencies free_frequencies(const MeasuredTable& table) {
  FreeFrequencies out{.inv_freq = std::vector<double>(table.pairs, 0.0),
                      .spread = std::vector<double>(table.pairs, std::numeric_limits<double>::infinity())};
  const auto tokens = static_cast<std::size_t>(table.tokens);
  const auto sequences = static_cast<std::size_t>(table.sequences);
  for (std::size_t p = 0; p < table.pairs; ++p) {
    double& f = out.inv_freq[p];
    for (std::size_t lag = 1; lag < tokens; lag *= 2) {
      std::complex<double> sum = 0.0;
      double variance = 0.0;
      for (std::size_t s = 0; s < sequences; ++s) {
        for (std::size_t t = 0; t + lag < tokens; ++t) {
          const std::size_t a = table.at(s * tokens + t, p);
          const std::size_t b = table.at(s * tokens + t + lag, p);
          // The product's variance is v/w of either times the other: inverse of the sum as the weight.
          const double w = table.weight[a] * table.weight[b] / std::max(table.weight[a] + table.weight[b], 1e-300);
          sum += w * std::conj(table.c[a]) * table.c[b];
          variance += w * std::max(table.variance(a), table.variance(b));
        }
      }
      const double size = std::abs(sum);
      if (!(size > 0)) break;
      // Sums that a factor of |c|^2 is part of.
      const double spread = table.factor[p] * std::sqrt(variance) / size;
      if (lag > 1 && out.spread[p] * static_cast<double>(lag) > 0.5) break;  // the turn is not sure
      const auto length = static_cast<double>(lag);
      f += std::arg(sum * std::polar(1.0, -f * length)) / length;
      out.spread[p] = spread / length;
    }
  }
  return out;
}

std::optional<double> fitted_number(const FreeFrequencies& measured, double low, double high,
                                    const std::function<std::vector<double>(double)>& inv_freq) {
  std::vector<double> weight(measured.inv_freq.size(), 0.0);
  std::size_t used = 0;
  for (std::size_t p = 0; p < weight.size(); ++p) {
    const double relative = measured.spread[p] / std::fabs(measured.inv_freq[p]);
    if (!(relative < 0.1) || measured.inv_freq[p] == 0) continue;
    // Relative errors below 2^-16 do not decide between bases, and would let one pair decide alone.
    weight[p] = 1 / std::max(relative * relative, 0x1p-32);
    ++used;
  }
  if (used < 2) return {};
  const auto distance = [&](double x) {
    const std::vector<double> f = inv_freq(std::exp(x));
    double sum = 0.0;
    for (std::size_t p = 0; p < weight.size() && p < f.size(); ++p) {
      if (weight[p] == 0) continue;
      const double ratio = f[p] > 0 ? std::log(std::fabs(measured.inv_freq[p]) / f[p]) : 10.0;
      sum += weight[p] * ratio * ratio;
    }
    return sum;
  };
  const double from = std::log(low);
  const double to = std::log(high);
  constexpr int kGrid = 96;
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= kGrid; ++i) {
    const double d = distance(from + (to - from) * i / kGrid);
    if (d < least) {
      least = d;
      best = i;
    }
  }
  double a = from + (to - from) * std::max(0, best - 1) / kGrid;
  double b = from + (to - from) * std::min(kGrid, best + 1) / kGrid;
  for (int i = 0; i < 100 && b - a > 1e-12; ++i) {
    const double third = (b - a) / 3;
    (distance(a + third) < distance(b - third) ? b : a) =
        distance(a + third) < distance(b - third) ? b - third : a + third;
  }
  return std::exp((a + b) / 2);
}

std::optional<double> fewest_digits(double value, const std::function<bool(double)>& holds) {
  if (!std::isfinite(value) || !(value > 0)) return {};
  const auto digits = static_cast<int>(std::floor(std::log10(value)));
  for (int kept = 1; kept <= 6; ++kept) {
    const int places = kept - 1 - digits;
    // By whole powers of ten, so that 500000 comes out as such.
    const double power = std::pow(10.0, std::abs(places));
    const double near = places >= 0 ? std::nearbyint(value * power) / power : std::nearbyint(value / power) * power;
    if (near > 0 && holds(near)) return near;
  }
  return {};
}

}  // namespace posenc::inline v0_2::port
