// Lists of numbers as a plan's sources have them: "0-4,6-10".
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace posenc::inline v0_2 {

// Whether such a list has the number; what is no number holds nothing.
inline bool has_number(std::string_view ranges, std::int64_t number) {
  while (!ranges.empty()) {
    const std::string_view part = ranges.substr(0, ranges.find(','));
    ranges.remove_prefix(std::min(ranges.size(), part.size() + 1));
    std::int64_t first = 0;
    const auto [end, wrong] = std::from_chars(part.data(), part.data() + part.size(), first);
    if (wrong != std::errc{}) return false;
    std::int64_t last = first;
    if (end != part.data() + part.size() && *end == '-') std::from_chars(end + 1, part.data() + part.size(), last);
    if (first <= number && number <= last) return true;
  }
  return false;
}

}  // namespace posenc::inline v0_2
