// Whether each block of a stack has a second attention, which looks at another stack's output.
#pragma once

#include "plan/config_scope.h"
#include "plan/sourced.h"

namespace posenc::plan {

Sourced<bool> read_cross_attention(ConfigScope& scope);

}  // namespace posenc::plan
