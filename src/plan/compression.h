// Layers that see, beside their window, keys made of several tokens each (DeepSeek V4).
#pragma once

#include "plan/config_scope.h"
#include "plan/layer_pattern.h"

namespace posenc::plan {

// Of layer_types, else of compress_ratios, else as the class has it. Sparse layers have an indexer that chooses among
// few tokens each (4), heavy ones see all of their coarser keys (128).
void read_compression(ConfigScope& scope, LayerPattern& pattern);

}  // namespace posenc::plan
