// What is added to a tower's patches or frames.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/families/tower.h"
#include "plan/scope/config_scope.h"
#include "posenc/plan.h"

namespace posenc::plan {

// Patches along the two sides of the image that the tower was trained with.
struct PatchGrid {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::string from;
};

PatchGrid read_patch_grid(ConfigScope& scope);

struct TowerInputs {
  std::vector<InputScheme> input;
  std::vector<FieldSource> sources;  // "input/0/positions"
};

TowerInputs read_tower_input(ConfigScope& scope, const Tower& tower);

}  // namespace posenc::plan
