// Which layer attends: --stack, --layer and --cross, held against a plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "posenc/plan.h"

namespace posenc::tool {

struct AttendingWords {
  std::optional<std::string> stack;
  std::optional<std::int64_t> layer;
  bool cross = false;
};

struct AttendingLayer {
  const Stack* stack = nullptr;
  const LayerPlan* layer = nullptr;
  std::string name;  // "decoder layer 5"; "decoder layers 0-31" where none was asked for and they attend alike
};

// Throws UsageError for a stack or a layer that the plan does not have, or that must be said since layers differ;
// Failure where what is asked for does not attend.
AttendingLayer choose_attending(const Plan& plan, const AttendingWords& words);

}  // namespace posenc::tool
