// Where query and key are, to the rotation, in SelfExtend, ReRoPE and dual chunk attention: posenc/scores.h, one
// formula for each scheme (regions.cpp).
#pragma once

#include "posenc/scores.h"

namespace posenc::math {

Standing standing(std::monostate, double i, double j);
Standing standing(const SelfExtend& regions, double i, double j);
Standing standing(const ReRope& regions, double i, double j);
Standing standing(const DualChunk& regions, double i, double j);

}  // namespace posenc::math
