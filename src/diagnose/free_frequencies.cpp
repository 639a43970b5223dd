#include "diagnose/free_frequencies.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace posenc::inline v0_2::port {
namespace {

// c of one pair along an axis, at 0, 1, 2, ... of it; without weight where no token stands.
struct Along {
  std::vector<std::complex<double>> c;
  std::vector<double> weight;
  std::vector<double> variance;
};

// The mean of conj(c[x]) c[x + lag] turns by the frequency times the lag, each lag refining the last.
void refine(const std::vector<Along>& all, double factor, double& f, double& spread) {
  std::size_t length = 0;
  for (const Along& one : all) length = std::max(length, one.c.size());
  for (std::size_t lag = 1; lag < length; lag *= 2) {
    std::complex<double> sum = 0.0;
    double variance = 0.0;
    for (const Along& one : all) {
      for (std::size_t a = 0; a + lag < one.c.size(); ++a) {
        const std::size_t b = a + lag;
        // The product's variance is v/w of either times the other: inverse of the sum as the weight.
        const double w = one.weight[a] * one.weight[b] / std::max(one.weight[a] + one.weight[b], 1e-300);
        if (!(w > 0)) continue;
        sum += w * std::conj(one.c[a]) * one.c[b];
        variance += w * std::max(one.variance[a], one.variance[b]);
      }
    }
    const double size = std::abs(sum);
    if (!(size > 0)) {
      if (lag == 1) continue;  // no two neighbours are there
      break;
    }
    // Sums that a factor of |c|^2 is part of.
    const double off = factor * std::sqrt(variance) / size;
    if (std::isfinite(spread) && spread * static_cast<double>(lag) > 0.5) break;  // the turn is not sure
    const auto distance = static_cast<double>(lag);
    f += std::arg(sum * std::polar(1.0, -f * distance)) / distance;
    spread = off / distance;
  }
}

constexpr double kFarthestCoordinate = 0x1p16;

}  // namespace

FreeFrequencies free_frequencies(const MeasuredTable& table) {
  FreeFrequencies out{.inv_freq = std::vector<double>(table.pairs, 0.0),
                      .spread = std::vector<double>(table.pairs, std::numeric_limits<double>::infinity())};
  const auto tokens = static_cast<std::size_t>(table.tokens);
  std::vector<Along> all(static_cast<std::size_t>(table.sequences));
  for (std::size_t p = 0; p < table.pairs; ++p) {
    for (std::size_t s = 0; s < all.size(); ++s) {
      all[s] = {};
      for (std::size_t t = 0; t < tokens; ++t) {
        const std::size_t cell = table.at(s * tokens + t, p);
        all[s].c.push_back(table.c[cell]);
        all[s].weight.push_back(table.weight[cell]);
        all[s].variance.push_back(table.variance(cell));
      }
    }
    refine(all, table.factor[p], out.inv_freq[p], out.spread[p]);
  }
  return out;
}

FreeFrequencies free_frequencies(const MeasuredTable& table, const Places& places,
                                 const std::vector<std::int32_t>& axis_of_pair) {
  FreeFrequencies out{.inv_freq = std::vector<double>(table.pairs, 0.0),
                      .spread = std::vector<double>(table.pairs, std::numeric_limits<double>::infinity())};
  for (std::size_t p = 0; p < table.pairs; ++p) {
    const std::vector<double>& at = places.axes[axis_of_pair.empty() ? 0 : static_cast<std::size_t>(axis_of_pair[p])];
    const double first = *std::ranges::min_element(at);
    const double last = *std::ranges::max_element(at);
    if (!(last - first < kFarthestCoordinate)) continue;
    const auto length = static_cast<std::size_t>(last - first) + 1;
    Along along{.c = std::vector<std::complex<double>>(length, 0.0),
                .weight = std::vector<double>(length, 0.0),
                .variance = std::vector<double>(length, 0.0)};
    for (std::size_t r = 0; r < table.rows; ++r) {
      const double offset = at[r] - first;
      if (offset != std::floor(offset)) continue;
      const auto x = static_cast<std::size_t>(offset);
      const std::size_t cell = table.at(r, p);
      along.c[x] += table.weight[cell] * table.c[cell];
      along.weight[x] += table.weight[cell];
      along.variance[x] = std::max(along.variance[x], table.variance(cell));
    }
    for (std::size_t x = 0; x < length; ++x) {
      if (along.weight[x] > 0) along.c[x] /= along.weight[x];
    }
    refine({std::move(along)}, table.factor[p], out.inv_freq[p], out.spread[p]);
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

double refined_number(const MeasuredTable& table, const Places& places, const std::vector<std::int32_t>& axis_of_pair,
                      double value, const std::function<std::vector<double>(double)>& inv_freq) {
  constexpr double kStep = 1e-6;        // of the logarithm, for the derivative
  constexpr double kUnsure = 0.05;      // how far the logarithm may be off at first
  constexpr double kQuarterTurn = 0.5;  // radians at one standard deviation: three are a quarter of a turn
  double x = std::log(value);
  double known = 1 / (kUnsure * kUnsure);
  const std::vector<double> up = inv_freq(std::exp(x + kStep));
  const std::vector<double> down = inv_freq(std::exp(x - kStep));
  const auto at = [&](std::size_t p) -> const std::vector<double>& {
    return places.axes[axis_of_pair.empty() ? 0 : static_cast<std::size_t>(axis_of_pair[p])];
  };
  std::vector<std::pair<double, std::size_t>> order;  // by how fast the last angle changes with x
  for (std::size_t p = 0; p < table.pairs && p < up.size(); ++p) {
    const double slope = (up[p] - down[p]) / (2 * kStep);
    double farthest = 0.0;
    for (const double place : at(p)) farthest = std::max(farthest, std::fabs(place));
    if (slope != 0 && farthest > 0) order.emplace_back(farthest * std::fabs(slope), p);
  }
  std::ranges::sort(order);
  for (const auto& [change, p] : order) {
    if (change > kQuarterTurn * std::sqrt(known)) break;
    const double f = inv_freq(std::exp(x))[p];
    const double slope = (up[p] - down[p]) / (2 * kStep);
    double along = 0.0;
    for (std::size_t r = 0; r < table.rows; ++r) {
      const std::size_t cell = table.at(r, p);
      const double size = std::norm(table.c[cell]);
      const double variance = table.variance(cell) + table.weight[cell] * size * 0x1p-40;
      if (!(table.weight[cell] > 0) || !(size > 0)) continue;
      const double place = at(p)[r];
      const double off = std::arg(table.c[cell] * std::polar(1.0, -place * f));
      const double information = table.weight[cell] * size / variance * place * slope;
      along += information * off;
      known += information * place * slope;
    }
    x += along / known;
  }
  return std::exp(x);
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
