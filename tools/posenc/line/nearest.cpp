// Words are short (64 bytes at most) and names few, so the distance to every name is computed.
#include "line/nearest.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace posenc::tool {
namespace {

// Optimal string alignment distance, one row per character of `a`.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::exchange(last, std::move(row));
  }
  return last.back();
}

}  // namespace

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& names) {
  // Longer than any name of ours: no typing error, and the distance is quadratic.
  if (word.size() > 64) return {};
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& name : names) {
    // "llama" for "llama-3.1-8b" is no typing error but half a name.
    const bool part = word.size() >= 3 && name.find(word) != std::string::npos;
    const std::size_t distance = part ? 1 : edits(word, name);
    if (distance <= std::max<std::size_t>(2, name.size() / 3)) found.emplace_back(distance, name);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (auto& [distance, name] : found) {
    if (out.size() < 3 && distance <= found.front().first + 1) out.push_back(std::move(name));
  }
  return out;
}

}  // namespace posenc::tool
