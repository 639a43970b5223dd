// What the tokens of a tower's layers see.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/facts/sourced.h"
#include "plan/families/tower.h"
#include "plan/scope/config_scope.h"
#include "posenc/plan.h"

namespace posenc::plan {

// A mask, the side in patches of what it leaves of the image, and where that came from.
struct TowerSight {
  Mask mask;
  std::int64_t side = 0;             // 0: it leaves everything
  std::vector<FieldSource> sources;  // "mask/kind"
};

struct TowerMasks {
  TowerSight whole;
  TowerSight window;
  std::vector<bool> windowed;  // [layers]
};

TowerMasks read_tower_masks(ConfigScope& scope, const Tower& tower, std::int64_t layers);

}  // namespace posenc::plan
