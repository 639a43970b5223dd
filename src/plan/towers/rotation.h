// How a tower turns its heads: one or two rotations over the coordinates of patches.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/families/tower.h"
#include "plan/rope/keys.h"
#include "plan/scope/config_scope.h"
#include "plan/towers/shape.h"
#include "posenc/plan.h"

namespace posenc::plan {

struct TowerRotation {
  std::vector<Rotate> rotate;
  std::vector<FieldSource> sources;  // "rotate/0/base"
};

TowerRotation read_tower_rotation(ConfigScope& scope, const Tower& tower, const TowerShape& shape);

}  // namespace posenc::plan
