// Layers that see, beside their window, keys made of several tokens each (DeepSeek V4).
#pragma once

#include "plan/facts/layer_pattern.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

// Of layer_types, else of compress_ratios, else as the class has it. Sparse layers have an indexer that chooses among
// few tokens each (4), heavy ones see all of their coarser keys (128).
void read_compression(ConfigScope& scope, LayerPattern& pattern);

}  // namespace posenc::plan
