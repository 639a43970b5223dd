#include "plan/facts/warning_list.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace posenc::plan {

void WarningList::add(std::string_view code, std::string message, std::vector<std::string> keys) {
  Warning warning{std::string(code), std::move(message), std::move(keys)};
  const std::size_t hash = std::hash<std::string>{}(warning.message);
  const auto [first, last] = by_hash_.equal_range(hash);
  if (std::any_of(first, last, [&](const auto& place) { return all_[place.second] == warning; })) return;
  by_hash_.emplace(hash, all_.size());
  all_.push_back(std::move(warning));
}

std::vector<Warning> WarningList::take() {
  by_hash_.clear();
  return std::exchange(all_, {});
}

}  // namespace posenc::plan
