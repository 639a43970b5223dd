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
constexpr std::string_view kMropeInterleaved = "mrope_interleaved";

AxisMap axis_map(AxisLayout layout, const std::vector<std::int64_t>& sections) {
  return layout == AxisLayout::interleaved ? interleaved_axes(sections) : chunked_axes({"t", "h", "w"}, sections);
}

// Dealt out, h has pairs 1, 4, 7 .. and w 2, 5, 8 .., so that not every sum of the right size finds room.
std::int64_t most_of_axis(AxisLayout layout, std::size_t axis, std::int64_t pairs) {
  if (layout == AxisLayout::chunked || axis == 0) return kMaxHeadDim;
  return (pairs - static_cast<std::int64_t>(axis) + 2) / 3;
}

// Three counts that add up to the pairs; nothing after an error.
std::vector<std::int64_t> given_sections(RopeKeys& keys, const Place& place, AxisLayout layout, std::int64_t pairs) {
  const auto entries = keys.reader().list(place);
  if (!entries) return {};
  if (entries->size() != 3) {
    keys.reader().fail(place, ErrorKind::length_mismatch, "3 numbers, one for each of the axes t, h and w");
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
  if (sum == pairs) return keys.reserve_list(place, pairs) ? sections : std::vector<std::int64_t>{};
  keys.reader().fail(place, ErrorKind::length_mismatch, formatted("counts of {} pairs in all", pairs),
                     formatted("{} channels rotate; {} = {}", 2 * pairs, joined(sections, " + "), sum));
  return {};
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

void fail_without_sections(RopeKeys& keys, const std::vector<std::int64_t>& sections, std::int64_t pairs) {
  if (keys.reader().failed()) return;
  FileError error = keys.scope().object().error(
      ErrorKind::missing_key, formatted("{}: pairs of each axis", kMropeSection),
      formatted("{} pairs rotate, and the class deals out {}", pairs, joined(sections, " + ")));
  error.got = "none";
  keys.reader().fail(std::move(error));
}

}  // namespace

AxisMap read_axes(RopeKeys& keys, std::int64_t dim) {
  const auto& rule = keys.scope().family().axes;
  if (!rule) return {};
  keys.note("axes", family_default(keys.scope().family()));
  judge_layout_key(keys, rule->layout);
  const auto place = keys.find(kMropeSection);
  if (place) {
    keys.note("axis_of_pair", *place);
    const std::vector<std::int64_t> sections = given_sections(keys, *place, rule->layout, dim / 2);
    return sections.empty() ? AxisMap{} : axis_map(rule->layout, sections);
  }
  std::vector<std::int64_t> sections(rule->sections.begin(), rule->sections.end());
  if (rule->layout == AxisLayout::interleaved) cut_sections(sections, dim / 2);
  if (std::accumulate(sections.begin(), sections.end(), std::int64_t{0}) != dim / 2) {
    fail_without_sections(keys, sections, dim / 2);
    return {};
  }
  keys.note("axis_of_pair", formatted("default: {} [{}] of the {} family", kMropeSection, joined(sections, ", "),
                                      keys.scope().family().name));
  return axis_map(rule->layout, sections);
}

}  // namespace posenc::plan
