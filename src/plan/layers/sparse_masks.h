// What a layer sees that no window can say: keys that an indexer picks, keys made of several tokens, a prompt that
// stays visible, images whose tokens see each other.
#pragma once

#include "plan/facts/layer_pattern.h"
#include "plan/rope/keys.h"
#include "plan/scope/config_scope.h"
#include "posenc/plan.h"

namespace posenc::plan {

// How many keys are chosen, and in what units.
struct Selection {
  Sourced<std::int64_t> kept;
  std::int64_t block = 1;       // keys of a block; 1: single keys
  std::int64_t own_blocks = 0;  // that are kept in any case
};
Selection read_selection(ConfigScope& scope);

// Turns a layer's mask into what this layer sees, and says where that came from.
void refine_mask(ConfigScope& scope, const LayerPattern& pattern, const Selection& selection, const LayerTraits& layer,
                 Mask& mask, std::vector<FieldSource>& sources);

}  // namespace posenc::plan
