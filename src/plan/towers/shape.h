// Layers, heads and channels of a tower.
#pragma once

#include <cstdint>

#include "plan/families/tower.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

struct TowerShape {
  std::int64_t layers = 1;
  std::string layers_from;
  Sourced<std::int64_t> heads;  // 0: not known
  Sourced<std::int64_t> kv_heads;
  Sourced<std::int64_t> head_dim;  // 0: not known
  const Key* width_key = nullptr;  // the key to blame when the channels do not suit
};

// `room`: how many layers the plan may still get.
TowerShape read_tower_shape(ConfigScope& scope, const Tower& tower, std::int64_t room);

}  // namespace posenc::plan
