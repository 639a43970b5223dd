// Which coordinate of a token rotates which pair (M-RoPE): mrope_section counts the pairs of each axis.
#pragma once

#include <cstdint>

#include "plan/rope/keys.h"
#include "posenc/rope.h"

namespace posenc::plan {

// For a rotation of `dim` channels, by Family::axes; the one axis t where the family has no such rule.
AxisMap read_axes(RopeKeys& keys, std::int64_t dim);

}  // namespace posenc::plan
