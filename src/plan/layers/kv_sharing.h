// Layers that reuse the keys and values of an earlier one.
#pragma once

#include "plan/facts/layer_pattern.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

// num_kv_shared_layers: the last so many layers take those of the last layer of their own type before them (Gemma 4).
void read_kv_sharing(ConfigScope& scope, LayerPattern& pattern);

}  // namespace posenc::plan
