// Equal layers, merged, and the text that names them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/formatted.h"
#include "posenc/plan.h"

namespace posenc::inline v0_2 {
namespace {

// From this many on, ranges at equal distances are shortened to the first two and the last.
constexpr std::size_t kShortened = 5;

struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// b - a for a <= b, whatever they are.
std::uint64_t distance(std::int64_t a, std::int64_t b) {
  return static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
}

// The maximal ranges of consecutive numbers; two layers of one block are one number.
std::vector<Range> ranges(std::vector<std::int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::vector<Range> out;
  for (const std::int64_t number : numbers) {
    if (!out.empty() && distance(out.back().last, number) <= 1) {
      out.back().last = number;
    } else {
      out.push_back({number, number});
    }
  }
  return out;
}

// How many ranges, from `begin` on, have one width and one step.
std::size_t progression(const std::vector<Range>& all, std::size_t begin) {
  const auto width = [&](std::size_t i) { return distance(all[i].first, all[i].last); };
  const auto step = [&](std::size_t i) { return distance(all[i - 1].first, all[i].first); };
  std::size_t end = begin + 1;
  while (end < all.size() && width(end) == width(begin) && step(end) == step(begin + 1)) ++end;
  return end - begin;
}

std::string text(const Range& range) {
  return range.first == range.last ? formatted("{}", range.first) : formatted("{}-{}", range.first, range.last);
}

std::string ordinal(std::uint64_t number) {
  const std::uint64_t tens = number % 100 / 10;
  const std::uint64_t ones = number % 10;
  const char* ending = tens == 1 ? "th" : ones == 1 ? "st" : ones == 2 ? "nd" : ones == 3 ? "rd" : "th";
  return formatted("{}{}", number, ending);
}

}  // namespace

std::vector<LayerRun> layer_runs(const Stack& stack) {
  std::vector<LayerRun> runs;
  std::vector<LayerPlan> kinds;  // of each run, with index 0
  for (std::size_t at = 0; at < stack.layers.size(); ++at) {
    LayerPlan layer = stack.layers[at];
    layer.index = 0;
    const auto same = std::find(kinds.begin(), kinds.end(), layer);
    const auto run = static_cast<std::size_t>(same - kinds.begin());
    if (same == kinds.end()) {
      kinds.push_back(std::move(layer));
      runs.emplace_back();
    }
    runs[run].layers.push_back(static_cast<std::int64_t>(at));
    runs[run].blocks.push_back(stack.layers[at].index);
  }
  return runs;
}

std::string selection(const LayerRun& run) {
  const std::vector<Range> all = ranges(run.blocks);
  std::string out;
  const auto add = [&](std::string_view part) { out.append(out.empty() ? "" : ", ").append(part); };
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t regular = progression(all, at);
    if (regular < kShortened) {
      add(text(all[at++]));
      continue;
    }
    add(formatted("{}, {}, ..., {}", text(all[at]), text(all[at + 1]), text(all[at + regular - 1])));
    if (all[at].first == all[at].last) {
      out += formatted(" (every {})", ordinal(distance(all[at].first, all[at + 1].first)));
    }
    at += regular;
  }
  return out;
}

}  // namespace posenc::inline v0_2
