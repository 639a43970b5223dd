#include "diagnose/directed.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "diagnose/noise.h"

namespace posenc::inline v0_2::port {
namespace {

constexpr double kDirectedUnit = 0x1p-24;
constexpr double kDirectedBinade = 4.0;
// Angles that are as uncertain as this many roundings of the tensor are so by rounding.
constexpr double kNearRounding = 4.0;

// Sums of one test.
struct Direction {
  double along = 0.0;
  double squares = 0.0;
  double tolerated = 0.0;

  void add(double information, double g, double off, double may) {
    along += information * g * off;
    squares += information * g * g;
    tolerated += information * std::fabs(g) * may;
  }
  // In standard deviations, beyond what may be.
  double excess() const { return squares > 0 ? std::max(0.0, std::fabs(along) - tolerated) / std::sqrt(squares) : 0.0; }
};

}  // namespace

Suspicion suspicion(const MeasuredTable& table, const Hypothesis& h) {
  const auto z = predicted(table, h);
  const double base = h.frequencies->rope ? h.frequencies->rope->base : 1e6;
  std::vector<Direction> pairs(table.pairs);
  std::vector<Direction> rows(table.rows);
  // Of an axis: all its positions one number further, and stretched.
  std::map<std::size_t, std::pair<Direction, Direction>> axes;
  for (std::size_t r = 0; r < table.rows; ++r) {
    for (std::size_t p = 0; p < table.pairs; ++p) {
      const std::size_t cell = table.at(r, p);
      const double size = std::norm(z[cell]);
      double variance = table.variance(cell);
      if (!(table.weight[cell] > 0) || !(size > 0) || !(variance > 0)) continue;
      // Rounding varies by four within a power of two, and goes with the element, not with the cell.
      const double rounding = kNearRounding * table.after_unit;
      if (variance < table.weight[cell] * size * rounding * rounding) variance *= kDirectedBinade;
      const std::size_t axis =
          h.axis_of_pair == nullptr || h.axis_of_pair->empty() ? 0 : static_cast<std::size_t>((*h.axis_of_pair)[p]);
      const double place = h.places->axes[axis][r];
      const double f = h.frequencies->inv_freq[p];
      const double off = (std::conj(z[cell]) * table.c[cell]).imag() / size;
      const double may = angle_tolerance(place * f, base) + 2 * kDirectedUnit + table.after_unit;
      const double information = table.weight[cell] * size / variance;
      pairs[p].add(information, place, off, may);
      rows[r].add(information, f, off, may);
      auto& [shift, stretch] = axes[axis];
      shift.add(information, f, off, may);
      stretch.add(information, f * place, off, may);
    }
  }
  // Pairs that turn by so much, radians, and the part of it that has to show.
  constexpr double kTurns = 0.3;
  constexpr double kShows = 0.3;
  double least_power = std::numeric_limits<double>::infinity();
  for (std::size_t p = 0; p < table.pairs; ++p) {
    const std::size_t axis =
        h.axis_of_pair == nullptr || h.axis_of_pair->empty() ? 0 : static_cast<std::size_t>((*h.axis_of_pair)[p]);
    const auto [low, high] = std::ranges::minmax(h.places->axes[axis]);
    const double f = std::fabs(h.frequencies->inv_freq[p]);
    if (f * (high - low) >= kTurns) least_power = std::min(least_power, kShows * f * std::sqrt(pairs[p].squares));
  }
  double most = 0.0;
  for (const Direction& one : pairs) most = std::max(most, one.excess());
  for (const Direction& one : rows) most = std::max(most, one.excess());
  for (const auto& [axis, both] : axes) most = std::max({most, both.first.excess(), both.second.excess()});
  const double tests = 2 * static_cast<double>(table.pairs + table.rows + 2 * axes.size());
  const double freedom = table.pair_freedom * std::max(1.0, static_cast<double>(table.pairs) / 2);
  const auto limit = [&](double error) {
    const double t = level_of(tests, error);
    // The variance itself was measured.
    return std::sqrt(2 * t * (1 + 2 * std::sqrt(t / freedom)));
  };
  if (most > limit(kFalseAlarm)) return Suspicion::wrong;
  return most > limit(kUnnamed) || least_power < limit(kFalseAlarm) ? Suspicion::open : Suspicion::none;
}

}  // namespace posenc::inline v0_2::port
