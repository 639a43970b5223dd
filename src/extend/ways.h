// The ways of stretching a rotation, as words of override_plan.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/extend.h"
#include "posenc/plan.h"

namespace posenc::extend {

struct Stretch {
  std::int64_t from = 0;  // tokens
  std::int64_t to = 0;
  double factor() const { return static_cast<double>(to) / static_cast<double>(from); }
};

// What a way is called, is, and is set by, with nothing measured yet. `rope` is the rotation with the rule that stands.
std::vector<Extension> ways_of(const Rope& rope, const Stretch& stretch);

// What a sentence calls a way: "YaRN" for "yarn".
std::string_view title(std::string_view way);

// The keys of the rule that stands, explained.
std::vector<ExplainedKey> explained(const Rope& rope, std::optional<std::int64_t> trained);

}  // namespace posenc::extend
