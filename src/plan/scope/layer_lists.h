// Lists with one entry for each layer, counted from 0.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/facts/sourced.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {

struct LayerList {
  Place place;
  std::vector<io::JsonValue> entries;  // one a layer
};

// Nothing when it is absent or empty. What stands beyond the layers is dropped: one entry more is allowed, or as many
// as num_nextn_predict_layers says (multi-token prediction modules follow the layers in such lists).
std::optional<LayerList> read_layer_list(ConfigScope& scope, const Key& key, std::int64_t layers);
std::optional<LayerList> read_layer_list(ConfigScope& scope, const Place& place, std::int64_t layers);

// A whole number or a truth value of 0 or 1.
bool is_marked(ConfigReader& reader, const io::JsonValue& entry);

}  // namespace posenc::plan
