// Which layer attends: --stack, --layer and --cross, held against a plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "posenc/plan.h"

namespace posenc::tool {

struct AttendingWords {
  std::optional<std::string> stack;
  std::optional<std::int64_t> layer;
  bool cross = false;
  bool linear = false;  // layers of linear attention too, where their shape is known
};

struct AttendingLayer {
  const Stack* stack = nullptr;
  const LayerPlan* layer = nullptr;
  std::string name;  // "decoder layer 5"; "decoder layers 0-31" where none was asked for and they attend alike
};

// Every kind of layer that is asked for: at least one, in the order of the plan. Throws UsageError for a stack or a
// layer that the plan does not have; Failure where what is asked for does not attend.
std::vector<AttendingLayer> attending_kinds(const Plan& plan, const AttendingWords& words);

// The one kind. Throws UsageError besides where a stack or a layer must be said since layers differ.
AttendingLayer choose_attending(const Plan& plan, const AttendingWords& words);

}  // namespace posenc::tool
