// How a tower turns its heads: one or two rotations over the coordinates of patches.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/config_scope.h"
#include "plan/rope_keys.h"
#include "plan/tower.h"
#include "plan/tower_shape.h"
#include "posenc/plan.h"

namespace posenc::plan {

struct TowerRotation {
  std::vector<Rotate> rotate;
  std::vector<FieldSource> sources;  // "rotate/0/base"
};

TowerRotation read_tower_rotation(ConfigScope& scope, const Tower& tower, const TowerShape& shape);

}  // namespace posenc::plan
