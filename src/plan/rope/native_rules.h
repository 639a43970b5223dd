// Scaling rules of model files that have no rope dictionary in Hugging Face's form (native_schemas.h).
#pragma once

#include <cstdint>

#include "plan/rope/keys.h"
#include "posenc/rope.h"

namespace posenc::plan {

// By Family::native, for a rotation of `dim` channels.
Scaling read_native_scaling(RopeKeys& keys, std::int64_t dim);

}  // namespace posenc::plan
