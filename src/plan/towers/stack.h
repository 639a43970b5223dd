// The stack of a vision or audio tower: its facts, from one object of the config.
#pragma once

#include <cstdint>

#include "plan/facts/stack_facts.h"
#include "plan/families/tower.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

// `room`: how many layers the plan may still get. After an error (scope.reader().failed()) the result is void.
StackFacts read_tower_stack(ConfigScope& scope, const Tower& tower, std::int64_t room);

}  // namespace posenc::plan
