// Rotations that are given layer by layer: rope_theta and partial_rotary_factors as lists (Step 3.5).
#pragma once

#include <cstdint>
#include <optional>

#include "plan/facts/layer_pattern.h"
#include "plan/facts/sourced.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

// Says of each layer which is the first that has the same entries (LayerTraits::list_entry).
void read_rope_lists(ConfigScope& scope, LayerPattern& pattern);

// Where `place` holds a list with one entry a layer, the one of `layer`, with the list as its source; else `place`.
std::optional<Place> entry_of_layer(ConfigScope& scope, const Place& place, std::int64_t layer, std::int64_t layers);

}  // namespace posenc::plan
