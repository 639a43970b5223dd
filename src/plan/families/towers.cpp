#include <algorithm>

#include "plan/families/tower.h"

namespace posenc::plan {

const Tower* find_tower(std::string_view model_type) noexcept {
  for (std::span<const Tower> table : {vision_towers(), audio_towers()}) {
    const auto row =
        std::ranges::find_if(table, [&](const Tower& tower) { return tower.family.model_types.contains(model_type); });
    if (row != table.end()) return &*row;
  }
  return nullptr;
}

}  // namespace posenc::plan
