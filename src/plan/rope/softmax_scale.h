// The factor on q.k: 1/sqrt(head_dim), or what a family has in its place.
#pragma once

#include <cstdint>

#include "plan/json/sourced.h"
#include "plan/layers/attention_shape.h"
#include "plan/read/config_scope.h"

namespace posenc::plan {

// `parts`: terms that share the scale (DeBERTa: 1/sqrt(head_dim * parts)).
Sourced<double> read_softmax_scale(ConfigScope& scope, const AttentionShape& shape, const Sourced<std::int64_t>& parts);

// Whether each layer divides it by its index + 1 besides (GPT-2's scale_attn_by_inverse_layer_idx).
Sourced<bool> read_division_by_layer(ConfigScope& scope);

}  // namespace posenc::plan
