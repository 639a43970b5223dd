// How a tower rotates its heads: one or two rotations over the coordinates of patches.
#pragma once

#include "plan/facts/layer_facts.h"
#include "plan/families/tower.h"
#include "plan/scope/config_scope.h"
#include "plan/towers/shape.h"

namespace posenc::plan {

void read_tower_rotation(ConfigScope& scope, const Tower& tower, const TowerShape& shape, LayerFacts& layer);

}  // namespace posenc::plan
