#include "diagnose/precision/stored_levels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace posenc::inline v0_2::port {
namespace {

// Tokens that have a scale in common in KIVI and in transformers' quantised caches, or all; and levels of four bits.
constexpr std::array<std::int64_t, 4> kGroups{32, 64, 128, std::int64_t{1} << 40};
constexpr std::int64_t kFewLevels = 16;
// Of so few numbers any lie on a grid.
constexpr std::int64_t kFewestTokens = 12;

using Values = std::vector<double>;

std::int64_t count_different(Values values) {
  std::ranges::sort(values);
  return std::unique(values.begin(), values.end()) - values.begin();
}

// The steps of the coarsest grid that all values lie on, of 2 to 8 bits: from the least to the largest, or as many to
// each side of 0. 12 others lie on one by chance once in 10^8. 0: none.
std::int64_t steps_of(const Values& values, double unit) {
  constexpr double kOnGrid = 0.1;
  constexpr double kShown = 0.02;  // steps that rounding of the values may be off
  const auto [low, high] = std::ranges::minmax(values);
  const double most = std::max(std::fabs(low), std::fabs(high));
  struct Grid {
    double from, range;
  };
  for (std::int64_t steps = 3; steps <= 255; steps = 2 * steps + 1) {
    for (const Grid& grid : {Grid{low, high - low}, Grid{0.0, most}}) {
      const double step = grid.range / static_cast<double>(steps);
      if (!(step > 0) || unit * most > kShown * step) continue;
      const bool lies = std::ranges::all_of(values, [&](double x) {
        const double place = (x - grid.from) / step;
        return std::fabs(place - std::nearbyint(place)) < kOnGrid;
      });
      if (lies) return grid.from == 0.0 ? 2 * steps : steps;
    }
  }
  return 0;
}

// Levels of a channel after, where they are few and those before are not; 0: not few.
std::int64_t levels_of(const Values& before, const Values& after, double unit) {
  const std::int64_t different = count_different(after);
  const auto tokens = static_cast<std::int64_t>(after.size());
  // Of normal numbers and 16 levels 32 tokens have 12 different ones.
  if (different <= kFewLevels && 2 * different <= tokens && 2 * count_different(before) > 3 * different) {
    return kFewLevels;
  }
  if (tokens < kFewestTokens || steps_of(before, unit) != 0) return 0;
  const std::int64_t steps = steps_of(after, unit);
  return steps == 0 ? 0 : steps + 1;
}

}  // namespace

std::optional<std::int64_t> stored_levels(const Samples& samples) {
  for (const std::int64_t group : kGroups) {
    const std::int64_t tokens = std::min(samples.tokens, group);
    std::int64_t few = 0;
    std::int64_t most = 0;
    Values x(static_cast<std::size_t>(tokens));
    Values y(x.size());
    for (std::int64_t h = 0; h < samples.heads; ++h) {
      for (std::int64_t c = 0; c < samples.channels; ++c) {
        for (std::int64_t t = 0; t < tokens; ++t) {
          x[static_cast<std::size_t>(t)] = samples.x(t, h)[c];
          y[static_cast<std::size_t>(t)] = samples.y(t, h)[c];
        }
        const std::int64_t levels = levels_of(x, y, samples.after_unit);
        if (levels != 0) ++few;
        most = std::max(most, levels);
      }
    }
    if (10 * few >= 9 * samples.heads * samples.channels) return most;
    if (tokens == samples.tokens) break;
  }
  return {};
}

}  // namespace posenc::inline v0_2::port
