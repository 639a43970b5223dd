// How many coordinates a token has in a layer: 1 for text, 3 (t, h, w) for M-RoPE, 2 for images.
#pragma once

#include <cstdint>

#include "posenc/plan.h"

namespace posenc::math {

// Those of its main rotations; at least two where a score term counts rows and columns, and as
// many as a term of one axis counts along.
std::int64_t axes_of(const LayerPlan& layer);

}  // namespace posenc::math
