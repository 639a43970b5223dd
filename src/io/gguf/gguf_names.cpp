// Duplicate names among up to a million, by FNV-1a hashes that are sorted once: n log n whatever the names are.
#include "io/gguf/gguf_names.h"

#include <algorithm>
#include <cstddef>

namespace posenc::io {

void GgufNames::add(std::string_view name, std::uint64_t offset) {
  // FNV-1a, 64 bits: offset basis and prime of the published algorithm.
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  seen_.emplace_back(hash, offset);
}

// Pairs sort by hash, then offset: equal names stand side by side in the file's order. The pair whose second comes
// first in the file is where a reader in order would stop.
std::optional<std::pair<std::uint64_t, std::uint64_t>> GgufNames::repeated() {
  std::ranges::sort(seen_);
  std::optional<std::pair<std::uint64_t, std::uint64_t>> first;
  for (std::size_t i = 1; i < seen_.size(); ++i) {
    if (seen_[i].first != seen_[i - 1].first) continue;
    if (!first || seen_[i].second < first->second) first = {seen_[i - 1].second, seen_[i].second};
  }
  return first;
}

}  // namespace posenc::io
