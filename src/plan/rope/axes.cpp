// Which axis (t, h, w) rotates which pair (M-RoPE): mrope_section, else the family's counts; chunked or interleaved.
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "plan/rope/rope.h"

namespace posenc::plan {
namespace {

constexpr std::string_view kMropeSection = "mrope_section";
constexpr std::string_view kXdropeSection = "xdrope_section";  // its older name, where there are four
constexpr std::string_view kMropeInterleaved = "mrope_interleaved";

// h and w take turns, then comes t. `sections`: h, w, t; the first two are equal.
AxisMap hw_before_t(const std::vector<std::int64_t>& sections) {
  AxisMap axes = chunked_axes({"t", "h", "w"}, {0, 0, sections[0] + sections[1]});
  for (std::size_t pair = 0; pair < axes.of_pair.size(); pair += 2) axes.of_pair[pair] = 1;
  axes.of_pair.resize(axes.of_pair.size() + static_cast<std::size_t>(sections[2]), 0);
  return axes;
}

AxisMap rows_columns(std::int64_t pairs) {
  AxisMap axes = chunked_axes({"h", "w"}, {0, pairs});
  for (std::size_t pair = 0; pair < axes.of_pair.size(); pair += 2) axes.of_pair[pair] = 0;
  return axes;
}

// The tokens of an image have its number in common.
AxisMap images_apart(const std::vector<std::int64_t>& sections) {
  std::vector<std::string> names{"t", "w", "h", "image"};
  if (sections.size() < names.size()) names.erase(names.begin());
  return chunked_axes(std::move(names), sections);
}

// Never twice in a row while others have pairs left; the last pair is t's.
AxisMap least_served(const std::vector<std::int64_t>& sections) {
  AxisMap axes{.names = {"t", "h", "w"}, .of_pair = {}};
  std::vector<std::int64_t> left(sections);
  left[0] = std::max<std::int64_t>(left[0] - 1, 0);
  const std::vector<std::int64_t> share(left);
  const std::int64_t pairs = left[0] + left[1] + left[2];
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    const std::int32_t last = axes.of_pair.empty() ? -1 : axes.of_pair.back();
    const auto served = [&](std::int32_t axis) {
      const auto at = static_cast<std::size_t>(axis);
      return static_cast<double>(share[at] - left[at]) / static_cast<double>(share[at]);
    };
    std::int32_t best = -1;
    for (const bool may_repeat : {false, true}) {
      for (std::int32_t axis = 0; axis < 3; ++axis) {
        if (left[static_cast<std::size_t>(axis)] == 0 || (axis == last && !may_repeat)) continue;
        if (best < 0 || served(axis) < served(best)) best = axis;
      }
      if (best >= 0) break;
    }
    --left[static_cast<std::size_t>(best)];
    axes.of_pair.push_back(best);
  }
  if (sections[0] > 0) axes.of_pair.push_back(0);
  return axes;
}

AxisMap axis_map(AxisLayout layout, const std::vector<std::int64_t>& sections) {
  if (layout == AxisLayout::images_apart) return images_apart(sections);
  if (layout == AxisLayout::hw_before_t) return hw_before_t(sections);
  if (layout == AxisLayout::least_served) return least_served(sections);
  if (layout == AxisLayout::hw_then_t) return hw_before_t({sections[1], sections[2], sections[0]});
  return layout == AxisLayout::interleaved ? interleaved_axes(sections) : chunked_axes({"t", "h", "w"}, sections);
}

// Dealt out, h has pairs 1, 4, 7 .. and w 2, 5, 8 .., so that not every sum of the right size finds room.
std::int64_t most_of_axis(AxisLayout layout, std::size_t axis, std::int64_t pairs) {
  if (layout != AxisLayout::interleaved || axis == 0) return kMaxHeadDim;
  return (pairs - static_cast<std::int64_t>(axis) + 2) / 3;
}

// Three counts that add up to the pairs; nothing after an error.
std::vector<std::int64_t> given_sections(RopeKeys& keys, const Place& place, AxisLayout layout, std::int64_t pairs) {
  const auto entries = keys.reader().list(place);
  if (!entries) return {};
  const bool may_be_four = layout == AxisLayout::images_apart;
  if (entries->size() != 3 && !(may_be_four && entries->size() == 4)) {
    keys.reader().fail(
        place, ErrorKind::length_mismatch,
        may_be_four ? "3 or 4 numbers, one for each axis" : "3 numbers, one for each of the axes t, h and w");
    return {};
  }
  std::vector<std::int64_t> sections;
  for (const io::JsonValue& entry : *entries) {
    const std::int64_t most = most_of_axis(layout, sections.size(), pairs);
    const auto count = keys.reader().integer(Place{entry, entry.pointer()}, {0, most});
    if (!count) return {};
    sections.push_back(*count);
  }
  const std::int64_t sum = std::accumulate(sections.begin(), sections.end(), std::int64_t{0});
  const bool take_turns = layout == AxisLayout::hw_before_t || layout == AxisLayout::hw_then_t;
  const std::size_t first = layout == AxisLayout::hw_then_t ? 1 : 0;
  if (take_turns && sections[first] != sections[first + 1]) {
    keys.reader().fail(place, ErrorKind::out_of_range, "as many pairs for h as for w, which take turns");
    return {};
  }
  if (sum == pairs) return keys.reserve_list(place, pairs) ? sections : std::vector<std::int64_t>{};
  keys.reader().fail(place, ErrorKind::length_mismatch, formatted("counts of {} pairs in all", pairs),
                     formatted("{} channels rotate; {} = {}", 2 * pairs, joined(sections, " + "), sum));
  return {};
}

void fail_without_sections(RopeKeys& keys, const std::vector<std::int64_t>& sections, std::int64_t pairs) {
  if (keys.reader().failed()) return;
  FileError error = keys.scope().object().error(
      ErrorKind::missing_key, formatted("{}: pairs of each axis", kMropeSection),
      formatted("{} pairs rotate, and the class deals out {}", pairs, joined(sections, " + ")));
  error.got = "none";
  keys.reader().fail(std::move(error));
}

// Isaac: the class computes the sections, and the key says how they are laid out.
AxisMap halved(RopeKeys& keys, std::int64_t pairs) {
  if (pairs % 4 != 0) {
    fail_without_sections(keys, {pairs / 2, pairs / 4, pairs / 4}, pairs);
    return {};
  }
  const auto place = keys.find(kMropeInterleaved);
  const bool interleaved = place && keys.reader().boolean(*place).value_or(false);
  const std::vector<std::int64_t> sections{pairs / 2, pairs / 4, pairs / 4};
  return interleaved ? interleaved_axes(sections) : chunked_axes({"t", "h", "w"}, sections);
}

// How the sections are laid out is the class's own; the key only repeats it.
void judge_layout_key(RopeKeys& keys, AxisLayout layout) {
  const auto place = keys.find(kMropeInterleaved);
  if (!place) return;
  const auto interleaved = keys.reader().boolean(*place);
  if (!interleaved || *interleaved == (layout == AxisLayout::interleaved)) return;
  keys.reader().warn(
      "misleading-key",
      formatted("{} has no effect: the axes of a {} model are always {}.", place->from, keys.scope().family().name,
                layout == AxisLayout::interleaved ? "interleaved" : "in chunks"),
      {place->from});
}

// The class deals out pairs 1, 4, 7 .. to h and 2, 5, 8 .. to w as far as there are any, and leaves the rest to t.
void cut_sections(std::vector<std::int64_t>& sections, std::int64_t pairs) {
  for (std::size_t axis = 1; axis < sections.size(); ++axis) {
    sections[axis] = std::min(sections[axis], most_of_axis(AxisLayout::interleaved, axis, pairs));
  }
  sections[0] = pairs - sections[1] - sections[2];
}

}  // namespace

AxisMap read_axes(RopeKeys& keys, std::int64_t dim) {
  const auto& rule = keys.scope().family().axes;
  if (!rule) return {};
  keys.note("axes", family_default(keys.scope().family()));
  if (rule->layout == AxisLayout::rows_columns) return rows_columns(dim / 2);
  if (rule->layout == AxisLayout::halved) return halved(keys, dim / 2);
  AxisLayout layout = rule->layout;
  if (layout != AxisLayout::least_served) {
    judge_layout_key(keys, layout);
  } else if (const auto flag = keys.find(kMropeInterleaved); !flag || !keys.reader().boolean(*flag).value_or(false)) {
    layout = AxisLayout::chunked;
  }
  auto place = keys.find(kMropeSection);
  if (!place && rule->layout == AxisLayout::images_apart) place = keys.find(kXdropeSection);
  // Ling 3's wrapper has it at the top, and hands it on.
  if (!place && rule->layout == AxisLayout::hw_then_t) place = keys.reader().look(keys.reader().root(), kMropeSection);
  if (place) {
    keys.reader().mark_read(*place);
    keys.note("axis_of_pair", *place);
    const std::vector<std::int64_t> sections = given_sections(keys, *place, layout, dim / 2);
    return sections.empty() ? AxisMap{} : axis_map(layout, sections);
  }
  if (rule->layout == AxisLayout::images_apart) {
    keys.fail_missing(kMropeSection);
    return {};
  }
  std::vector<std::int64_t> sections(rule->sections.begin(), rule->sections.end());
  if (rule->layout == AxisLayout::interleaved) cut_sections(sections, dim / 2);
  if (std::accumulate(sections.begin(), sections.end(), std::int64_t{0}) != dim / 2) {
    fail_without_sections(keys, sections, dim / 2);
    return {};
  }
  keys.note("axis_of_pair", formatted("default: {} [{}] of the {} family", kMropeSection, joined(sections, ", "),
                                      keys.scope().family().name));
  return axis_map(layout, sections);
}

}  // namespace posenc::plan
