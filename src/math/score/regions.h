// posenc/regions.h, one formula a scheme.
#pragma once

#include "posenc/regions.h"

namespace posenc::math {

Standing standing(std::monostate, double i, double j);
Standing standing(const SelfExtend& regions, double i, double j);
Standing standing(const ReRope& regions, double i, double j);
Standing standing(const DualChunk& regions, double i, double j);

}  // namespace posenc::math
