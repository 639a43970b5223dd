#include "diagnose/precision/stored_levels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/formatted.h"

namespace posenc::inline v0_2::port {
namespace {

// Tokens that have a scale in common in KIVI and in transformers' quantised caches, or all; and levels of four bits.
constexpr std::array<std::int64_t, 4> kGroups{32, 64, 128, std::int64_t{1} << 40};
constexpr std::int64_t kFewLevels = 16;
// Channels that have a scale in common in ggml's formats, and how many such blocks are looked at.
constexpr std::int64_t kBlock = 32;
constexpr std::int64_t kBlocks = 4096;
constexpr int kBitsOfFloat8 = 4;  // e4m3, with the first bit; e5m2 has three
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

// Of nine groups of ten: as many levels at most; 0: not so many groups have few. place(n, i): where element i of group n
// stands.
template <typename Place>
std::int64_t levels_of_groups(const Samples& samples, std::int64_t groups, std::int64_t size, Place place) {
  std::int64_t few = 0;
  std::int64_t most = 0;
  Values x(static_cast<std::size_t>(size));
  Values y(x.size());
  for (std::int64_t n = 0; n < groups; ++n) {
    for (std::int64_t i = 0; i < size; ++i) {
      const auto at = static_cast<std::size_t>(place(n, i));
      x[static_cast<std::size_t>(i)] = samples.before[at];
      y[static_cast<std::size_t>(i)] = samples.after[at];
    }
    const std::int64_t levels = levels_of(x, y, samples.after_unit);
    if (levels != 0) ++few;
    most = std::max(most, levels);
  }
  return 10 * few >= 9 * groups ? most : 0;
}

// Significant bits that all elements have, at most; up to a bound, beyond which it is not counted.
int significant_bits(const Values& values, int bound) {
  int most = 0;
  for (const double value : values) {
    int exponent = 0;
    double part = std::fabs(std::frexp(value, &exponent));
    int bits = 0;
    for (; part != 0 && bits < bound; ++bits) part = 2 * part - std::floor(2 * part);
    most = std::max(most, bits);
    if (most == bound) break;
  }
  return most;
}

}  // namespace

std::optional<std::string> stored_coarsely(const Samples& samples) {
  for (const std::int64_t group : kGroups) {
    const std::int64_t tokens = std::min(samples.tokens, group);
    const std::int64_t channels = samples.heads * samples.channels;
    const auto place = [&](std::int64_t n, std::int64_t t) { return t * channels + n; };
    const std::int64_t levels = levels_of_groups(samples, channels, tokens, place);
    if (levels != 0) return formatted("each channel comes out in few levels, {} at most", levels);
    if (tokens == samples.tokens) break;
  }
  const std::int64_t all = samples.rows() * samples.heads * samples.channels;
  for (const std::int64_t block : {kBlock, samples.channels}) {
    if (samples.channels % block != 0) continue;
    const std::int64_t groups = std::min(all / block, kBlocks);
    const auto place = [&](std::int64_t n, std::int64_t i) { return n * block + i; };
    const std::int64_t levels = levels_of_groups(samples, groups, block, place);
    if (levels != 0) return formatted("each {} channels of a token come out in few levels, {} at most", block, levels);
  }
  const int bits = significant_bits(samples.after, kBitsOfFloat8 + 1);
  if (bits <= kBitsOfFloat8 && significant_bits(samples.before, kBitsOfFloat8 + 1) > kBitsOfFloat8) {
    return formatted("elements come out in few levels, of {} significant bits", bits);
  }
  return {};
}

}  // namespace posenc::inline v0_2::port
