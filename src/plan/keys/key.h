// One fact of a config, with the names under which files carry it and what it says.
#pragma once

#include <span>
#include <string_view>

namespace posenc::plan {

using Names = std::span<const std::string_view>;

struct Key {
  Names names;
  std::string_view about;        // what it says, for docs/config-keys.md
  bool null_is_a_value = false;  // null switches something off; elsewhere null is the same as absent

  constexpr std::string_view name() const noexcept { return names.front(); }
};

}  // namespace posenc::plan
