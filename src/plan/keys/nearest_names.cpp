// The known names nearest to a given one, by the Levenshtein distance of their first 64 bytes.
#include "plan/keys/nearest_names.h"

#include <algorithm>
#include <array>
#include <utility>

namespace posenc::plan {
namespace {

constexpr std::size_t kCompared = 64;  // bytes; names are shorter, and a file's text may be of any length

// Levenshtein's distance, one row at a time.
std::size_t edits_of_short(std::string_view a, std::string_view b) {
  std::array<std::size_t, kCompared + 1> row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::size_t edits(std::string_view a, std::string_view b) noexcept {
  return edits_of_short(a.substr(0, kCompared), b.substr(0, kCompared));
}

std::vector<std::string_view> nearest_names(std::string_view given, std::span<const std::string_view> names,
                                            std::size_t count) {
  std::vector<std::string_view> sorted(names.begin(), names.end());
  std::ranges::stable_sort(sorted, {}, [&](std::string_view name) { return edits(given, name); });
  sorted.resize(std::min(count, sorted.size()));
  return sorted;
}

}  // namespace posenc::plan
