// From the word MODEL to a plan: a path, the name of a preset, or - for standard input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "posenc/error.h"
#include "posenc/plan.h"

namespace posenc::tool {

// Why there is no plan: the message for standard error, complete, and the exit code.
struct NoPlan {
  std::string message;
  int exit_code = 0;
};

std::variant<Plan, NoPlan> load_plan(const std::string& model, std::optional<std::int64_t> length);
// Throws Failure instead.
Plan plan_of(const std::string& model, std::optional<std::int64_t> length);

bool is_preset(std::string_view name);
// The message when no preset has that name, nearest ones named.
std::string unknown_preset(const std::string& name);

}  // namespace posenc::tool
