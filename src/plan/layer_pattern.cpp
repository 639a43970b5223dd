#include "plan/layer_pattern.h"

#include <fmt/compile.h>

#include <algorithm>
#include <utility>

namespace posenc::plan {
namespace {

using io::JsonKind;
using io::JsonValue;
using Types = std::vector<LayerType>;

struct TypeName {
  std::string_view name;
  LayerType type;
};
// Hugging Face's names first; then EXAONE's letters and executorch's words.
constexpr TypeName kTypeNames[] = {
    {"full_attention", LayerType::full}, {"sliding_attention", LayerType::sliding},
    {"chunked_attention", LayerType::chunked}, {"G", LayerType::full}, {"L", LayerType::sliding},
    {"GLOBAL", LayerType::full}, {"SLIDING_LOCAL", LayerType::sliding},
};

constexpr Bounds kWindows{1, kMaxPosition};
constexpr Bounds kCounts{1, kMaxLayers};

template <typename Rule>
Types types_of(std::int64_t layers, Rule slides) {
  Types types(static_cast<std::size_t>(layers), LayerType::full);
  for (std::int64_t i = 0; i < layers; ++i) {
    if (slides(i)) types[static_cast<std::size_t>(i)] = LayerType::sliding;
  }
  return types;
}

std::optional<LayerType> type_at(ConfigReader& reader, const JsonValue& entry) {
  const Place place{entry, entry.pointer()};
  const auto text = reader.string(place);
  if (!text) return {};
  const auto type = layer_type(*text);
  if (!type) {
    reader.fail(place, ErrorKind::out_of_range, "full_attention, sliding_attention or chunked_attention");
  }
  return type;
}

// A list of one entry per layer, or one more. Nothing when it is absent or empty.
std::optional<std::pair<Place, std::vector<JsonValue>>> layer_list(ConfigScope& scope, const Key& key,
                                                                   std::int64_t layers) {
  const auto place = scope.peek(key);
  if (!place) return {};
  auto entries = scope.reader().list(*place);
  if (!entries || entries->empty()) return {};
  const auto count = static_cast<std::int64_t>(entries->size());
  if (count != layers && count != layers + 1) {
    scope.reader().fail(*place, ErrorKind::length_mismatch, fmt::format(FMT_COMPILE("{} entries, one for each layer"), layers),
                        fmt::format(FMT_COMPILE("{} entries; one more than layers is allowed"), count));
    return {};
  }
  scope.reader().mark_read(*place);
  entries->resize(static_cast<std::size_t>(layers), place->value);
  return std::pair{*place, std::move(*entries)};
}

std::optional<Sourced<Types>> listed_types(ConfigScope& scope, std::int64_t layers) {
  const auto list = layer_list(scope, keys::kLayerTypes, layers);
  if (!list) return {};
  Sourced<Types> types{{}, list->first.from};
  for (const JsonValue& entry : list->second) types.value.push_back(type_at(scope.reader(), entry).value_or(LayerType::full));
  return types;
}

// 6: each sixth layer is full. "LLLG" or a list: repeated; with letters the last layer is full whatever they say.
Types pattern_types(ConfigScope& scope, const Place& place, std::int64_t layers) {
  ConfigReader& reader = scope.reader();
  Types unit;
  if (place.value.kind() == JsonKind::number) {
    const std::int64_t n = reader.integer(place, {0, kMaxPosition}).value_or(0);
    return types_of(layers, [n](std::int64_t i) { return n != 0 && (i + 1) % n != 0; });
  }
  const bool letters = place.value.kind() == JsonKind::string;
  if (letters) {
    for (const char letter : place.value.text()) {
      const auto type = layer_type(std::string_view(&letter, 1));
      if (!type) reader.fail(place, ErrorKind::out_of_range, "a text of the letters L (local) and G (global)");
      unit.push_back(type.value_or(LayerType::full));
    }
  } else if (const auto entries = reader.list(place)) {
    for (const JsonValue& entry : *entries) unit.push_back(type_at(reader, entry).value_or(LayerType::full));
  }
  if (unit.empty()) reader.fail(place, ErrorKind::out_of_range, "at least one entry");
  if (reader.failed()) return types_of(layers, [](std::int64_t) { return false; });
  Types types;
  for (std::int64_t i = 0; i < layers; ++i) types.push_back(unit[static_cast<std::size_t>(i) % unit.size()]);
  if (letters) types.back() = LayerType::full;
  return types;
}

Sourced<Types> patterned_types(ConfigScope& scope, std::int64_t layers) {
  ConfigReader& reader = scope.reader();
  std::optional<Sourced<Types>> types = listed_types(scope, layers);
  for (std::string_view name : key_names::kWindowPattern) {
    const auto place = reader.look(scope.object(), name);
    if (!place || place->value.is_null()) continue;
    const Types said = pattern_types(scope, *place, layers);
    if (!types) {
      reader.mark_read(*place);
      types = {said, place->from};
    } else if (said != types->value) {
      reader.warn("precedence", fmt::format(FMT_COMPILE("{} and {} give different layers a window; the first wins."), types->from, place->from),
                  {types->from, place->from});
    }
  }
  if (types) return *types;
  if (const auto place = scope.class_default(keys::kWindowPattern)) {
    return {pattern_types(scope, *place, layers), place->from};
  }
  const std::int64_t n = scope.family().default_pattern;
  return {types_of(layers, [n](std::int64_t i) { return (i + 1) % n != 0; }),
          fmt::format(FMT_COMPILE("default: every {}th layer of the {} family is full"), n, scope.family().name)};
}

Sourced<Types> read_types(ConfigScope& scope, std::int64_t layers, const LayerPattern& pattern) {
  const auto full = [](std::int64_t) { return false; };
  const auto every = [](std::int64_t) { return true; };
  const Windows rule = scope.family().windows;
  const Setting<std::int64_t>& limit = rule == Windows::chunked_turning ? pattern.chunk : pattern.window;
  // Without a window the types mean nothing, unless each has a rotation of its own.
  if (rule != Windows::none && !limit.value && !scope.family().ropes_per_type) return {types_of(layers, full), limit.from};
  switch (rule) {
    case Windows::none: return {types_of(layers, full), family_default(scope.family())};
    case Windows::every_layer: return {types_of(layers, every), pattern.window.from};
    case Windows::patterned: return patterned_types(scope, layers);
    case Windows::late_layers:
    case Windows::early_even:
    case Windows::resting_layers:
    case Windows::chunked_turning: break;
  }
  if (auto listed = listed_types(scope, layers)) return *listed;
  if (rule == Windows::chunked_turning) {
    Types types(static_cast<std::size_t>(layers), LayerType::full);
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (pattern.layers[i].turns) types[i] = LayerType::chunked;
    }
    return {types, pattern.turning_from};
  }
  if (rule == Windows::resting_layers) {
    return {types_of(layers, [&](std::int64_t i) { return !pattern.layers[static_cast<std::size_t>(i)].turns; }),
            pattern.turning_from};
  }
  const Sourced<std::int64_t> border = scope.required_integer(keys::kMaxWindowLayers, {0, kMaxPosition});
  if (rule == Windows::early_even) {
    return {types_of(layers, [&](std::int64_t i) { return i % 2 == 0 && i < border.value; }), border.from};
  }
  return {types_of(layers, [&](std::int64_t i) { return i >= border.value; }), border.from};
}

void read_window(ConfigScope& scope, LayerPattern& pattern) {
  const Family& family = scope.family();
  if (family.windows == Windows::none) return;
  if (family.windows == Windows::chunked_turning) {
    pattern.chunk = scope.integer(keys::kChunk, kWindows);
    return;
  }
  if (family.window_switch) {
    const Setting<bool> use = scope.flag(keys::kUseWindow);
    if (!use.value || !*use.value) {
      pattern.window.from = use.from;
      return;
    }
  }
  pattern.window = scope.integer(keys::kWindow, kWindows);
}

// 1 and true: this layer turns.
bool turns_at(ConfigReader& reader, const JsonValue& entry) {
  const Place place{entry, entry.pointer()};
  if (entry.kind() == JsonKind::boolean) return reader.boolean(place).value_or(true);
  return reader.integer(place, {0, 1}).value_or(1) == 1;
}

void read_turning_list(ConfigScope& scope, LayerPattern& pattern) {
  const auto layers = static_cast<std::int64_t>(pattern.layers.size());
  if (const auto list = layer_list(scope, keys::kRotatingLayers, layers)) {
    for (std::size_t i = 0; i < pattern.layers.size(); ++i) pattern.layers[i].turns = turns_at(scope.reader(), list->second[i]);
    pattern.turning_from = list->first.from;
    return;
  }
  const Sourced<std::int64_t> interval = scope.required_integer(keys::kNopeInterval, kCounts);
  for (std::int64_t i = 0; i < layers; ++i) pattern.layers[static_cast<std::size_t>(i)].turns = (i + 1) % interval.value != 0;
  pattern.turning_from = interval.from;
}

void let_sliding_layers_turn(ConfigScope& scope, LayerPattern& pattern) {
  const bool all = scope.family().turning == Turning::sliding_or_windowless && !pattern.window.value;
  for (LayerTraits& layer : pattern.layers) {
    layer.turns = all || (layer.type == LayerType::sliding && pattern.window.value);
  }
  pattern.turning_from = pattern.window.value ? pattern.types_from : pattern.window.from;
}

}  // namespace

std::string_view name(LayerType type) noexcept {
  return std::ranges::find(kTypeNames, type, &TypeName::type)->name;
}

std::optional<LayerType> layer_type(std::string_view name) noexcept {
  const auto row = std::ranges::find(kTypeNames, name, &TypeName::name);
  if (row == std::ranges::end(kTypeNames)) return {};
  return row->type;
}

LayerPattern read_layer_pattern(ConfigScope& scope, std::int64_t layers) {
  LayerPattern pattern;
  pattern.layers.resize(static_cast<std::size_t>(layers));
  pattern.turning_from = family_default(scope.family());
  if (scope.family().turning == Turning::listed) read_turning_list(scope, pattern);
  read_window(scope, pattern);
  Sourced<Types> types = read_types(scope, layers, pattern);
  for (std::size_t i = 0; i < pattern.layers.size(); ++i) pattern.layers[i].type = types.value[i];
  pattern.types_from = std::move(types.from);
  const Turning turning = scope.family().turning;
  if (turning == Turning::sliding_layers || turning == Turning::sliding_or_windowless) {
    let_sliding_layers_turn(scope, pattern);
  }
  return pattern;
}

}  // namespace posenc::plan
