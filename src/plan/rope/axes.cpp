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

AxisMap axis_map(AxisLayout layout, const std::vector<std::int64_t>& sections) {
  if (layout == AxisLayout::images_apart) return images_apart(sections);
  if (layout == AxisLayout::hw_before_t) return hw_before_t(sections);
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
  if (layout == AxisLayout::hw_before_t && sections[0] != sections[1]) {
    keys.reader().fail(place, ErrorKind::out_of_range, "as many pairs for h as for w, which take turns");
    return {};
  }
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
  if (rule->layout == AxisLayout::rows_columns) return rows_columns(dim / 2);
  judge_layout_key(keys, rule->layout);
  auto place = keys.find(kMropeSection);
  if (!place && rule->layout == AxisLayout::images_apart) place = keys.find(kXdropeSection);
  if (place) {
    keys.note("axis_of_pair", *place);
    const std::vector<std::int64_t> sections = given_sections(keys, *place, rule->layout, dim / 2);
    return sections.empty() ? AxisMap{} : axis_map(rule->layout, sections);
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
  return axis_map(rule->layout, sections);
}

}  // namespace posenc::plan
