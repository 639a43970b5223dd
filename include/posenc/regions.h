// Where a query and a key stand, to the rotation, when that depends on how far they are apart: SelfExtend, ReRoPE, dual
// chunk attention (schemes.h, Regions; formulas: src/math/score/regions.cpp).
//
// Thread safety: functions of their arguments.
#pragma once

#include "posenc/export.h"
#include "posenc/schemes.h"

namespace posenc::inline v0_2 {

struct Standing {
  double query;
  double key;
};

// For a query at i and a key at j. Keys in the future (j > i) are taken as near ones.
POSENC_API Standing standing(const Regions& regions, double i, double j);

}  // namespace posenc::inline v0_2
