// Which layers rotate and which see only a part of the sequence, as a config says it.
#pragma once

#include <cstdint>

#include "plan/facts/layer_pattern.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

// Layers are counted from 0. An empty list is the same as none.
LayerPattern read_layer_pattern(ConfigScope& scope, std::int64_t layers);

}  // namespace posenc::plan
