// The stack of a vision or audio tower: every layer's plan, from one object of the config.
#pragma once

#include <string_view>

#include "plan/families/tower.h"
#include "plan/scope/config_scope.h"
#include "posenc/plan.h"

namespace posenc::plan {

// Adds the stack to the plan's, with its sources. After an error (scope.reader().failed()) the plan is void.
void read_tower_stack(ConfigScope& scope, const Tower& tower, Plan& plan);

// Layers that a plan of so many may still get; at least 1, so that a bound can be said.
std::int64_t room_for_layers(const Plan& plan);

}  // namespace posenc::plan
