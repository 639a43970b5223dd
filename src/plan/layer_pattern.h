// Which layers turn and which see only a part of the sequence, layer by layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/config_scope.h"
#include "plan/sourced.h"
#include "posenc/plan.h"

namespace posenc::plan {

enum class LayerType : std::uint8_t { full, sliding, chunked };

// "sliding_attention", as in layer_types and in dictionaries per layer type.
std::string_view name(LayerType type) noexcept;
std::optional<LayerType> layer_type(std::string_view name) noexcept;

struct LayerTraits {
  LayerKind kind = LayerKind::attention;
  LayerType type = LayerType::full;
  bool turns = true;
  bool operator==(const LayerTraits&) const = default;
};

struct LayerPattern {
  std::vector<LayerTraits> layers;
  std::string kinds_from;
  std::string types_from;
  std::string turning_from;
  Setting<std::int64_t> window;  // tokens that a sliding layer sees, itself included
  Setting<std::int64_t> chunk;   // tokens of a chunk
};

// Layers are counted from 0. An empty list is the same as none.
LayerPattern read_layer_pattern(ConfigScope& scope, std::int64_t layers);

}  // namespace posenc::plan
