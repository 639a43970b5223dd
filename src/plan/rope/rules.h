// The scaling rules by the names under which config files ask for them.
#pragma once

#include <optional>
#include <string_view>

#include "plan/rope/keys.h"
#include "posenc/rope.h"

namespace posenc::plan {

// "su" and, in Phi-3's first files, "yarn" are LongRoPE; "mrope" is the default rule. Nothing, and an error,
// for a name that is not known.
std::optional<std::string_view> read_rope_type(RopeKeys& keys);

// The parameters of that rule for a rotation of `dim` channels, with warnings of what is odd about them.
Scaling read_scaling(RopeKeys& keys, std::string_view rope_type, std::int64_t dim);

}  // namespace posenc::plan
