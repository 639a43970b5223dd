#include "diagnose/other_places.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "diagnose/positions/decoded_positions.h"

namespace posenc::inline v0_2::port {
namespace {

using Axes = std::vector<std::vector<double>>;

// By how much most tokens' coordinates of an axis are off, whole; 0 where that is not seen.
double decoded_offset(const MeasuredTable& table, const FrequencyList& plan,
                      const std::vector<std::int32_t>& axis_of_pair, const std::vector<double>& expected,
                      std::int32_t axis) {
  const PositionDecoder decoder(table, plan, axis_of_pair, axis);
  const std::vector<DecodedRow> rows = decoder.decode_all(expected);
  std::vector<double> off;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].holds && rows[r].sure) off.push_back(std::nearbyint(rows[r].position - expected[r]));
  }
  if (off.empty()) return 0.0;
  const auto middle = off.begin() + static_cast<std::ptrdiff_t>(off.size() / 2);
  std::nth_element(off.begin(), middle, off.end());
  return *middle;
}

// What an axis's coordinates are instead of `expected`.
Change axis_change(const std::vector<double>& found, const std::vector<double>& expected, const std::string& axis,
                   std::size_t tokens) {
  std::size_t first = 0;
  while (found[first] == expected[first]) ++first;
  bool by_token = true;
  bool off_by_one_number = true;
  const double off = found[first] - expected[first];
  for (std::size_t r = 0; r < found.size(); ++r) {
    by_token = by_token && found[r] == static_cast<double>(r % tokens);
    off_by_one_number = off_by_one_number && (found[r] == expected[r] || found[r] - expected[r] == off);
  }
  const auto offset_words = [&] {
    return Change{
        PortFact::offset, formatted("{} in {}", off, axis), formatted("{}", 0),
        formatted("coordinates along {} are {} too {} there", axis, std::fabs(off), off > 0 ? "large" : "small"),
        first};
  };
  if (!by_token && off_by_one_number) return offset_words();
  std::vector<double> few(found.begin(),
                          found.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(12, found.size())));
  return {PortFact::positions,
          by_token ? formatted("counted by token along {}", axis)
                   : formatted("along {}: {}{}", axis, joined(few, ", "), found.size() > few.size() ? ", ..." : ""),
          "as given", formatted("give tokens their coordinates along {}", axis), first};
}

Axes changed(Axes axes, double times, double plus) {
  for (std::vector<double>& list : axes) {
    for (double& x : list) x = times * x + plus;
  }
  return axes;
}

}  // namespace

std::vector<Places> other_places(const MeasuredTable& table, const FrequencyList& plan,
                                 const std::vector<std::int32_t>& axis_of_pair, const Expectation& expected) {
  std::vector<Places> out;
  if (expected.axes.size() < 2 || axis_of_pair.empty() || !expected.rope) return out;
  const std::vector<std::string>& names = expected.rope->axes.names;
  std::vector<double> offsets;
  for (std::size_t a = 0; a < expected.axes.size(); ++a) {
    offsets.push_back(decoded_offset(table, plan, axis_of_pair, expected.axes[a], static_cast<std::int32_t>(a)));
  }
  std::vector<double> all = offsets;
  all.insert(all.end(), {1.0, -1.0});
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (const double k : all) {
    if (k == 0) continue;
    const Change off{PortFact::offset, formatted("{} in all coordinates", k), "0",
                     formatted("coordinates are {} too {}", std::fabs(k), k > 0 ? "large" : "small")};
    out.push_back({.axes = changed(expected.axes, 1.0, k), .changes = {off}});
    out.push_back({.axes = changed(expected.axes, -1.0, -k), .changes = {off, direction_change()}});
  }
  for (std::size_t a = 0; a < expected.axes.size(); ++a) {
    for (const double k : all) {
      if (k == 0) continue;
      Axes axes = expected.axes;
      for (double& x : axes[a]) x += k;
      out.push_back({.axes = std::move(axes),
                     .changes = {{PortFact::offset, formatted("{} in {}", k, names[a]), "0",
                                  formatted("coordinates along {} are {} too {}", names[a], std::fabs(k),
                                            k > 0 ? "large" : "small")}}});
    }
  }
  out.push_back({.axes = changed(expected.axes, 2.0, 0.0),
                 .changes = {{PortFact::rotation, "twice", "once", "rotate queries and keys once"}}});
  out.push_back({.axes = changed(expected.axes, -1.0, 0.0), .changes = {direction_change()}});
  for (const auto& [format, bits] : {std::pair{"float16", 11}, {"bfloat16", 8}}) {
    if (auto places = rounded_places(expected.places(), format, bits)) out.push_back(std::move(*places));
  }
  // From 0 on, or from where the first token of each sequence stands.
  const auto tokens = static_cast<std::size_t>(table.tokens);
  for (const bool from_zero : {true, false}) {
    Axes counted = expected.axes;
    for (std::vector<double>& list : counted) {
      for (std::size_t r = 0; r < list.size(); ++r) {
        const double first = from_zero ? 0.0 : expected.axes.front()[r - r % tokens];
        list[r] = first + static_cast<double>(r % tokens);
      }
    }
    if (!from_zero && counted == out.back().axes) break;
    out.push_back({.axes = std::move(counted),
                   .changes = {{PortFact::positions, "counted by token in all coordinates, as those of text are",
                                "as given", "give tokens of an image or a video their own coordinates"}}});
  }
  return out;
}

std::optional<Places> decoded_axes(const MeasuredTable& table, const FrequencyList& plan,
                                   const std::vector<std::int32_t>& axis_of_pair, const Expectation& expected) {
  if (expected.axes.size() < 2 || axis_of_pair.empty() || !expected.rope) return {};
  Places out{.axes = expected.axes};
  for (std::size_t a = 0; a < expected.axes.size(); ++a) {
    const PositionDecoder decoder(table, plan, axis_of_pair, static_cast<std::int32_t>(a));
    const std::vector<DecodedRow> rows = decoder.decode_all(expected.axes[a]);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      // Where neighbours are not told apart, what was expected, and holds, is as good as any.
      const bool is_whole = rows[r].holds && rows[r].sure && rows[r].position == std::nearbyint(rows[r].position);
      if (!is_whole && (rows[r].sure || !rows[r].first_hint_holds)) return {};
      out.axes[a][r] = is_whole ? rows[r].position : expected.axes[a][r];
    }
    if (out.axes[a] == expected.axes[a]) continue;
    out.changes.push_back(axis_change(out.axes[a], expected.axes[a], expected.rope->axes.names[a],
                                      static_cast<std::size_t>(table.tokens)));
  }
  if (out.changes.empty()) return {};
  return out;
}

}  // namespace posenc::inline v0_2::port
