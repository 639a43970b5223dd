// Lists with an entry for each layer, of checked length; entries behind them for prediction layers are dropped.
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/formatted.h"
#include "plan/keys/config_keys.h"
#include "plan/scope/config_scope.h"

namespace posenc::plan {
namespace {

bool is_for_predictors(ConfigScope& scope, std::int64_t entries) {
  if (entries <= 0) return false;
  if (entries == 1) return true;
  const auto place = scope.peek(keys::kPredictionLayers);
  if (!place || scope.reader().integer(*place, {0, kMaxLayers}) != entries) return false;
  scope.reader().mark_read(*place);
  return true;
}

// Llama 4 writes an empty no_rope_layers for its default; no class takes empty layer_types.
bool may_be_empty(const Place& place) { return !keys::kLayerTypes.names.contains(place.value.key()); }

}  // namespace

std::optional<LayerList> read_layer_list(ConfigScope& scope, const Place& place, std::int64_t layers) {
  auto entries = scope.reader().list(place);
  if (!entries) return {};
  if (entries->empty() && may_be_empty(place)) {
    scope.reader().mark_read(place);
    return {};
  }
  const auto count = static_cast<std::int64_t>(entries->size());
  if (count != layers && !is_for_predictors(scope, count - layers)) {
    scope.reader().fail(place, ErrorKind::length_mismatch, formatted("{} entries, one for each layer", layers),
                        formatted("{} entries; one more than layers is allowed", count));
    return {};
  }
  scope.reader().mark_read(place);
  entries->erase(entries->begin() + layers, entries->end());
  return LayerList{place, std::move(*entries)};
}

std::optional<LayerList> read_layer_list(ConfigScope& scope, const Key& key, std::int64_t layers) {
  const auto place = scope.peek(key);
  return place ? read_layer_list(scope, *place, layers) : std::nullopt;
}

std::vector<LayerEntry> read_layer_entries(ConfigScope& scope, std::int64_t layers) {
  ConfigReader& reader = scope.reader();
  std::vector<LayerEntry> entries;
  const auto place = scope.find(keys::kLayerConfig);
  if (!place || place->value.is_null()) return entries;
  if (place->value.kind() != io::JsonKind::object) {
    reader.fail(*place, ErrorKind::type, "an object or null");
    return entries;
  }
  reader.enter(place->value);
  for (const io::JsonValue& member : place->value.items()) {
    const Place at{member, member.pointer()};
    const std::string_view key = member.key();
    std::int64_t layer = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), layer);
    if (error != std::errc() || end != key.data() + key.size() || layer < 0 || layer >= layers) {
      reader.fail(at, ErrorKind::out_of_range, formatted("the number of a layer, from 0 to {}", layers - 1));
      return entries;
    }
    if (member.kind() != io::JsonKind::object) {
      reader.fail(at, ErrorKind::type, "an object");
      return entries;
    }
    reader.enter(member);
    entries.push_back({static_cast<std::size_t>(layer), member});
  }
  return entries;
}

bool is_marked(ConfigReader& reader, const io::JsonValue& entry) {
  const Place place{entry, entry.pointer()};
  if (entry.kind() == io::JsonKind::boolean) return reader.boolean(place).value_or(true);
  return reader.integer(place, {0, 1}).value_or(1) == 1;
}

}  // namespace posenc::plan
