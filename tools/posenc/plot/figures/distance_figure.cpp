// posenc plot distance: regions, in which a rotation has queries and keys stand elsewhere than they do.
//
// SelfExtend arXiv 2401.01325, ReRoPE kexue.fm/archives/9708, dual chunk attention arXiv 2402.17463; formulas in
// src/math/score/regions.cpp. A cell is the difference of the two positions by which RoPE rotates query i and key j.
#include <limits>
#include <variant>
#include <vector>

#include "inspect/stage_text.h"
#include "line/formatted.h"
#include "plot/figures.h"
#include "plot/numbers.h"
#include "posenc/scores.h"

namespace posenc::tool {
namespace {

constexpr std::int64_t kLongest = 1 << 20;

// ReRoPE is leaky where a step is given. DualChunk's `trained` is chunk + local where it is left out.
Regions regions_of(const SchemeWord& word) {
  const Numbers n(word);
  if (word.name == "none") {
    check_numbers(word, {});
    return std::monostate{};
  }
  if (word.name == "self_extend") {
    check_numbers(word, {"group", "window"});
    return SelfExtend{.group = n.whole("group", 4, 1, kLongest), .window = n.whole("window", 16, 0, kLongest)};
  }
  if (word.name == "rerope") {
    check_numbers(word, {"window", "step"});
    ReRope out{.window = n.whole("window", 16, 0, kLongest)};
    if (word.numbers.has("step")) out.step = static_cast<double>(n.whole("step", 1, 1, kLongest));
    return out;
  }
  if (word.name == "dual_chunk") {
    check_numbers(word, {"chunk", "local", "trained"});
    const std::int64_t chunk = n.whole("chunk", 24, 1, kLongest);
    const std::int64_t local = n.whole("local", 8, 0, chunk);
    return DualChunk{.chunk = chunk, .local = local, .trained = n.whole("trained", chunk + local, chunk, 2 * kLongest)};
  }
  unknown_scheme(word, {"self_extend", "rerope", "dual_chunk", "none"});
}

}  // namespace

Figure figure_of(const DistancePlot& plot) {
  const Regions regions = read_scheme({"--scheme", plot.scheme}, regions_of);
  std::vector<double> distances;
  for (std::int64_t i = 0; i < plot.tokens; ++i) {
    for (std::int64_t j = 0; j < plot.tokens; ++j) {
      const Standing stands = standing(regions, static_cast<double>(i), static_cast<double>(j));
      distances.push_back(j > i ? std::numeric_limits<double>::quiet_NaN() : stands.query - stands.key);
    }
  }
  const std::string text = regions_text(regions);
  return {.title = "Distance of a key from a query in RoPE",
          .detail = text.empty() ? "i - j, as they stand" : text,
          .content = HeatMaps{.rows = plot.tokens,
                              .columns = plot.tokens,
                              .row = {.label = "query i (tokens)"},
                              .column = {.label = "key j (tokens)"},
                              .value = "distance (tokens)",
                              .nothing = "masked: the key is in the future",
                              .maps = {{.values = std::move(distances)}}}};
}

}  // namespace posenc::tool
