// The scores of a tower's layers: their scale, cap, norm of q and k, and terms by distance.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/families/tower.h"
#include "plan/rope/keys.h"
#include "plan/scope/config_scope.h"
#include "plan/towers/masks.h"
#include "plan/towers/shape.h"
#include "posenc/plan.h"

namespace posenc::plan {

struct TowerScores {
  double softmax_scale = 1;
  bool channel_scale = false;
  std::optional<SoftCap> soft_cap;
  std::optional<QkNorm> qk_norm;
  std::vector<ScoreTerm> whole;      // of layers that see the whole image
  std::vector<ScoreTerm> window;     // of layers with windows
  std::vector<FieldSource> sources;  // "softmax_scale"
};

TowerScores read_tower_scores(ConfigScope& scope, const Tower& tower, const TowerShape& shape, const TowerMasks& masks);

}  // namespace posenc::plan
