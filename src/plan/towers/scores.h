// The scores of a tower's layers: their scale, cap, norm of q and k, and terms by distance.
#pragma once

#include <vector>

#include "plan/facts/layer_facts.h"
#include "plan/families/tower.h"
#include "plan/scope/config_scope.h"
#include "plan/towers/masks.h"
#include "plan/towers/shape.h"
#include "posenc/plan.h"

namespace posenc::plan {

// Terms by distance differ between layers.
struct TowerTerms {
  std::vector<ScoreTerm> whole;   // of layers that see the whole image
  std::vector<ScoreTerm> window;  // of layers with windows
};

TowerTerms read_tower_scores(ConfigScope& scope, const Tower& tower, const TowerShape& shape, const TowerMasks& masks,
                             LayerFacts& layer);

}  // namespace posenc::plan
