// What a GGUF file and its architecture say of each layer: what it is, its heads, whether it slides and rotates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/facts/sourced.h"
#include "plan/gguf/scope.h"
#include "posenc/plan.h"

namespace posenc::plan {

struct GgufLayer {
  LayerKind kind = LayerKind::attention;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  bool slides = false;
  bool rotates = false;
  std::optional<std::int64_t> kv_from;
};

// Channels of a head; of layers that slide, where the file tells them apart.
struct GgufHead {
  Sourced<std::int64_t> keys;
  Sourced<std::int64_t> values;
};

struct GgufLayers {
  Sourced<std::int64_t> trained_length;
  Sourced<std::int64_t> hidden;
  std::string count_from;
  std::vector<GgufLayer> layers;  // without those that predict further tokens
  GgufHead full;
  GgufHead sliding;
  Setting<std::int64_t> window;  // of the layers that slide; of chunks, their length
  std::string kind_from, heads_from, kv_heads_from, slides_from, rotates_from, shares_from;
};

GgufLayers read_gguf_layers(GgufScope& scope);

}  // namespace posenc::plan
