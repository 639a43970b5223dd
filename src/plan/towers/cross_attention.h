// Whether each block of a stack has a second attention, which looks at another stack's output.
#pragma once

#include <cstdint>

#include "plan/facts/sourced.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

Sourced<bool> read_cross_attention(ConfigScope& scope);

// How many blocks a stack may have: those of all stacks of the object, and both attentions of each, share kMaxLayers.
std::int64_t most_blocks(ConfigScope& scope);

}  // namespace posenc::plan
