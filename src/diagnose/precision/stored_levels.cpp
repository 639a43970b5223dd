#include "diagnose/precision/stored_levels.h"

#include <algorithm>

namespace posenc::inline v0_2::port {
namespace {

// Tokens that have a scale in common, in KIVI and in transformers' quantised caches; and levels of four bits.
constexpr std::int64_t kStoredGroup = 32;
constexpr std::int64_t kStoredLevels = 16;

std::int64_t count_different(std::vector<double>& values) {
  std::ranges::sort(values);
  return std::unique(values.begin(), values.end()) - values.begin();
}

}  // namespace

bool is_in_few_levels(const Samples& samples) {
  const std::int64_t tokens = std::min(samples.tokens, kStoredGroup);
  std::int64_t few = 0;
  std::vector<double> x(static_cast<std::size_t>(tokens));
  std::vector<double> y(x.size());
  for (std::int64_t h = 0; h < samples.heads; ++h) {
    for (std::int64_t c = 0; c < samples.channels; ++c) {
      for (std::int64_t t = 0; t < tokens; ++t) {
        x[static_cast<std::size_t>(t)] = samples.x(t, h)[c];
        y[static_cast<std::size_t>(t)] = samples.y(t, h)[c];
      }
      const std::int64_t levels = count_different(y);
      // Of normal numbers and 16 levels 32 tokens have 12 different ones.
      if (levels <= kStoredLevels && 2 * levels <= tokens && 2 * count_different(x) > 3 * levels) ++few;
    }
  }
  return 10 * few >= 9 * samples.heads * samples.channels;
}

}  // namespace posenc::inline v0_2::port
