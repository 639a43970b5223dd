// Heads and channels where they differ from layer to layer.
#pragma once

#include <vector>

#include "plan/facts/attention_shape.h"
#include "plan/facts/layer_pattern.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

// The shapes of a stack's attention layers, by Family::sizes; LayerTraits::shape says which of them a layer has.
std::vector<AttentionShape> read_layer_sizes(ConfigScope& scope, LayerPattern& pattern);

}  // namespace posenc::plan
