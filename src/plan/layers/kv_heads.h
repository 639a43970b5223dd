// How many heads keys and values have.
#pragma once

#include <cstdint>

#include "plan/facts/sourced.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

// By Family::kv_heads; a divisor of `heads`, or an error.
Sourced<std::int64_t> read_kv_heads(ConfigScope& scope, const Sourced<std::int64_t>& heads);

}  // namespace posenc::plan
