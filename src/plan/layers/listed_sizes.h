// Heads given layer by layer: num_query_heads and num_kv_heads as lists (OpenELM).
#pragma once

#include <vector>

#include "plan/facts/attention_shape.h"
#include "plan/facts/layer_pattern.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

// The different shapes, each once; LayerTraits::shape says which of them a layer has.
std::vector<AttentionShape> read_listed_sizes(ConfigScope& scope, LayerPattern& pattern);

}  // namespace posenc::plan
