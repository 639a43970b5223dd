// Which layers attend, and what the others are: linear attention, a state space, a convolution, nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/facts/sourced.h"
#include "plan/scope/config_scope.h"
#include "posenc/plan.h"

namespace posenc::plan {

// The number of layers: the key, or where a text has one letter a layer (hybrid_override_pattern), its length.
Sourced<std::int64_t> read_layer_count(ConfigScope& scope);

// One kind a layer, by Family::kinds.
Sourced<std::vector<LayerKind>> read_layer_kinds(ConfigScope& scope, std::int64_t layers);

// Whether a layer of this kind has queries and keys, so that positions can bear on it.
constexpr bool attends(LayerKind kind) noexcept {
  return kind == LayerKind::attention || kind == LayerKind::cross_attention;
}

// Whether each block of a stack has a second attention, which looks at another stack's output.
Sourced<bool> read_cross_attention(ConfigScope& scope);

}  // namespace posenc::plan
