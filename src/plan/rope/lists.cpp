// Lists by layer: rope_theta and partial_rotary_factors (Step 3.5), layer_rope_theta (Granite SWA; 0: no RoPE there).
#include <vector>

#include "plan/rope/rope.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {
namespace {

using Entries = std::vector<io::JsonValue>;

std::optional<Entries> entries(ConfigScope& scope, const Key& key, std::int64_t layers) {
  const auto place = scope.peek(key);
  if (!place || place->value.kind() != io::JsonKind::array) return {};
  auto list = read_layer_list(scope, *place, layers);
  if (!list) return {};
  return std::move(list->entries);
}

bool same_at(const std::optional<Entries>& list, std::size_t a, std::size_t b) {
  return !list || same_value((*list)[a], (*list)[b]);
}

// A base for each layer; those of base 0 do not rotate.
void read_layer_bases(ConfigScope& scope, LayerPattern& pattern) {
  const auto place = scope.peek(keys::kLayerBases);
  const auto bases = entries(scope, keys::kLayerBases, static_cast<std::int64_t>(pattern.layers.size()));
  if (const std::int64_t every = scope.family().rests_every; !place && every > 0) {  // counted from the last layer
    const std::int64_t last = std::ssize(pattern.layers) - 1;
    for (std::int64_t i = last; i >= 0; i -= every) pattern.layers[static_cast<std::size_t>(i)].rotates = false;
    pattern.rotary_from = family_default(scope.family());
  }
  if (!place || !bases) return;
  for (std::size_t i = 0; i < pattern.layers.size(); ++i) {
    std::size_t first = 0;
    while (first < i && !same_at(bases, first, i)) ++first;
    pattern.layers[i].list_entry = static_cast<std::int64_t>(first);
    const io::JsonValue& base = (*bases)[i];
    pattern.layers[i].rotates = scope.reader().number({base, base.pointer()}) != 0.0;
  }
  pattern.rotary_from = place->from;
}

}  // namespace

void read_rope_lists(ConfigScope& scope, LayerPattern& pattern) {
  if (scope.family().layer_bases) return read_layer_bases(scope, pattern);
  if (!scope.family().rope_lists) return;
  const auto layers = static_cast<std::int64_t>(pattern.layers.size());
  const auto bases = entries(scope, keys::kBase, layers);
  const auto factors = entries(scope, keys::kPartialFactors, layers);
  for (std::size_t i = 0; i < pattern.layers.size(); ++i) {
    std::size_t first = 0;
    while (first < i && (!same_at(bases, first, i) || !same_at(factors, first, i))) ++first;
    pattern.layers[i].list_entry = static_cast<std::int64_t>(first);
  }
}

std::optional<Place> entry_of_layer(ConfigScope& scope, const Place& place, std::int64_t layer, std::int64_t layers) {
  if (place.value.kind() != io::JsonKind::array) return place;
  const auto list = read_layer_list(scope, place, layers);
  if (!list) return {};
  return Place{list->entries[static_cast<std::size_t>(layer)], place.from, place.in_file};
}

}  // namespace posenc::plan
