// Layers that see blocks of keys by a fixed pattern: Phi-3-small's, and DeepSpeed's "fixed" one (ruGPT-3 XL).
#pragma once

#include "plan/facts/layer_pattern.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

// By Family::block_sparse: LayerTraits::block_sparse of those layers, and what they see.
void read_block_sparse(ConfigScope& scope, LayerPattern& pattern);

}  // namespace posenc::plan
