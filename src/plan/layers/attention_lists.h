// Lists that say what each layer sees, in the words of three families: GPT-Neo's attention_types, Reformer's
// attn_layers, Longformer's attention_window.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/facts/layer_pattern.h"
#include "plan/facts/sourced.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

// One type a layer: global is full, local slides.
Sourced<std::vector<LayerType>> read_attention_types(ConfigScope& scope, std::int64_t layers);

// local: nearby chunks; lsh: chunks of what falls into one bucket.
Sourced<std::vector<LayerType>> read_chunk_types(ConfigScope& scope, std::int64_t layers);

// Reformer counts its layers by attn_layers.
Sourced<std::int64_t> count_chunk_types(ConfigScope& scope);

// One even width a layer, of both sides together; a number holds for all.
Sourced<std::vector<std::int64_t>> read_window_list(ConfigScope& scope, std::int64_t layers);

}  // namespace posenc::plan
