// Numbers of a scaling rule that stand beside the other keys, not in a rope dictionary (native_schemas.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "plan/rope/keys.h"

namespace posenc::plan {

// Noted as a field of the rule. Without the key, and without a default of it, an error.
double scaling_number_beside(RopeKeys& keys, const Key& key, std::string_view field);
std::int64_t original_length_beside(RopeKeys& keys, const Key& key);

}  // namespace posenc::plan
