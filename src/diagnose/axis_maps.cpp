#include "diagnose/axis_maps.h"

#include <algorithm>
#include <complex>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "diagnose/tried_frequencies.h"

namespace posenc::inline v0_2::port {
namespace {

std::string sections_words(const Rope& rope, const std::vector<std::int32_t>& of_pair) {
  if (of_pair.empty()) return "the first axis for all pairs";
  std::vector<std::string> runs;
  for (std::size_t p = 0; p < of_pair.size();) {
    std::size_t end = p;
    while (end < of_pair.size() && of_pair[end] == of_pair[p]) ++end;
    if (runs.size() == 6) {
      runs.push_back("...");
      break;
    }
    runs.push_back(formatted("{} {}", end - p, rope.axes.names[static_cast<std::size_t>(of_pair[p])]));
    p = end;
  }
  return joined(runs, ", ");
}

// Whether Qwen3-VL's order has a place for each: pairs 3 i + a of all, below their number.
bool interleaves(const std::vector<std::int64_t>& sections) {
  std::int64_t pairs = 0;
  for (const std::int64_t count : sections) pairs += count;
  for (std::size_t a = 0; a < 3; ++a) {
    if (sections[a] < 1 || (a > 0 && 3 * (sections[a] - 1) + static_cast<std::int64_t>(a) >= pairs)) return false;
  }
  return true;
}

// 1, 2, ..., count.
std::vector<std::int32_t> pair_numbers(std::size_t count) {
  std::vector<std::int32_t> out(count);
  for (std::size_t p = 0; p < count; ++p) out[p] = static_cast<std::int32_t>(p + 1);
  return out;
}

}  // namespace

std::vector<std::int32_t> axes_over(const std::vector<std::int32_t>& of_pair, const Rope& rope,
                                    const ChannelPairs& pairs) {
  if (of_pair.empty()) return {};
  const std::vector<double> shifted = over_pairs(std::vector<double>(of_pair.begin(), of_pair.end()), rope, pairs);
  return {shifted.begin(), shifted.end()};
}

std::vector<AxisChoice> axis_choices(const Rope& rope, const ChannelPairs& pairs) {
  const std::vector<std::int32_t>& own = rope.axes.of_pair;
  std::vector<AxisChoice> out{{axes_over(own, rope, pairs), {}}};
  const auto axes = static_cast<std::int32_t>(rope.axes.names.size());
  if (own.empty() || axes < 2) return out;
  const auto add = [&](std::vector<std::int32_t> of_pair, std::string found) {
    if (of_pair == own) return;
    if (found.empty()) found = sections_words(rope, of_pair);
    out.push_back({axes_over(of_pair, rope, pairs),
                   {{PortFact::axes, std::move(found), sections_words(rope, own),
                     "rotate each pair by the coordinate that the plan names"}}});
  };
  for (std::int32_t axis = 0; axis < axes; ++axis) {
    add(std::vector<std::int32_t>(own.size(), axis),
        formatted("{} for all pairs", rope.axes.names[static_cast<std::size_t>(axis)]));
  }
  for (std::int32_t a = 0; a < axes; ++a) {
    for (std::int32_t b = a + 1; b < axes; ++b) {
      std::vector<std::int32_t> swapped = own;
      for (std::int32_t& x : swapped) x = x == a ? b : x == b ? a : x;
      add(std::move(swapped), formatted("{} and {} exchanged", rope.axes.names[static_cast<std::size_t>(a)],
                                        rope.axes.names[static_cast<std::size_t>(b)]));
    }
  }
  std::vector<std::int64_t> sections(static_cast<std::size_t>(axes), 0);
  for (const std::int32_t x : own) ++sections[static_cast<std::size_t>(x)];
  std::vector<std::int32_t> chunks;
  for (std::int32_t a = 0; a < axes; ++a) {
    chunks.insert(chunks.end(), static_cast<std::size_t>(sections[static_cast<std::size_t>(a)]), a);
  }
  add(chunks, "");
  // In turn, an axis dropping out when its pairs are used up; and as Qwen3-VL has it.
  std::vector<std::int32_t> turns;
  std::vector<std::int64_t> left = sections;
  for (std::int32_t a = 0; turns.size() < own.size(); a = (a + 1) % axes) {
    if (left[static_cast<std::size_t>(a)]-- > 0) turns.push_back(a);
  }
  add(turns, "");
  if (axes == 3 && interleaves(sections)) add(interleaved_axes(sections).of_pair, "");
  return out;
}

std::optional<AxisChoice> measured_axes(const MeasuredTable& table, const FrequencyList& plan, const Places& places,
                                        const Rope& rope, const ChannelPairs& pairs) {
  const std::size_t axes = places.axes.size();
  const std::vector<std::int32_t> own = axes_over(rope.axes.of_pair, rope, pairs);
  if (axes < 2 || own.size() != table.pairs) return {};
  // Another axis has to leave far less than the plan's: of slow pairs all leave the same.
  constexpr double kFarLess = 0.25;
  std::vector<std::int32_t> of_pair = own;
  std::vector<double> rest(axes);
  for (std::size_t p = 0; p < table.pairs; ++p) {
    std::ranges::fill(rest, 0.0);
    for (std::size_t r = 0; r < table.rows; ++r) {
      const std::size_t cell = table.at(r, p);
      for (std::size_t a = 0; a < axes; ++a) {
        const std::complex<double> z = std::polar(table.factor[p], places.axes[a][r] * plan.inv_freq[p]);
        rest[a] += table.weight[cell] * std::norm(z - table.c[cell]);
      }
    }
    const auto best = std::ranges::min_element(rest);
    if (*best < kFarLess * rest[static_cast<std::size_t>(own[p])]) {
      of_pair[p] = static_cast<std::int32_t>(best - rest.begin());
    }
  }
  if (of_pair == own) return {};
  // The table may have more pairs than rotate, and the words are of those that do.
  const std::vector<std::int32_t> numbers = axes_over(pair_numbers(rope.axes.of_pair.size()), rope, pairs);
  std::vector<std::int32_t> of_rope = rope.axes.of_pair;
  for (std::size_t p = 0; p < numbers.size(); ++p) {
    if (numbers[p] > 0) of_rope[static_cast<std::size_t>(numbers[p] - 1)] = of_pair[p];
  }
  return AxisChoice{of_pair,
                    {{PortFact::axes, sections_words(rope, of_rope), sections_words(rope, rope.axes.of_pair),
                      "rotate each pair by the coordinate that the plan names"}}};
}

}  // namespace posenc::inline v0_2::port
