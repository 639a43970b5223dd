// Which layers slide, are chunked or full (layer_types; else by Family::windows, as sliding_window_pattern: each n-th
// is full), the window's width, which layers apply RoPE, and which reuse the KV cache of an earlier one.
#include <algorithm>
#include <functional>
#include <utility>

#include "base/formatted.h"
#include "plan/layers/layers.h"

namespace posenc::plan {
namespace {

// use_cla: the first of each cla_share_factor layers has the keys and values of all of them (Hunyuan).
bool share_in_groups(ConfigScope& scope, LayerPattern& pattern) {
  const Setting<bool> shares = scope.flag(keys::kUseCla);
  if (!shares.value.value_or(false)) return false;
  const Sourced<std::int64_t> group = scope.required_integer(keys::kShareFactor, {1, kMaxLayers});
  pattern.kv_from = group.from;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(pattern.layers.size()); ++i) {
    if (i % group.value != 0) pattern.layers[static_cast<std::size_t>(i)].kv_from = i - i % group.value;
  }
  return true;
}

// num_kv_shared_layers: the last so many layers take the keys and values of the last layer of their own type before
// them (Gemma 4).
void read_kv_sharing(ConfigScope& scope, LayerPattern& pattern) {
  if (scope.family().kinds == Kinds::shared_half) {
    const auto half = static_cast<std::int64_t>(pattern.layers.size()) / 2;
    for (std::size_t i = static_cast<std::size_t>(half) + 2; i < pattern.layers.size(); ++i) {
      pattern.layers[i].kv_from = half + 1;
    }
    pattern.kv_from = family_default(scope.family());
    return;
  }
  if (!scope.family().shares_kv || share_in_groups(scope, pattern)) return;
  const auto layers = static_cast<std::int64_t>(pattern.layers.size());
  const Setting<std::int64_t> shared = scope.integer(keys::kSharedKv, {0, std::max<std::int64_t>(layers - 1, 0)});
  pattern.kv_from = shared.from.empty() ? family_default(scope.family()) : shared.from;
  const std::int64_t first = layers - shared.value.value_or(0);
  const auto owners_end = pattern.layers.begin() + first;
  for (auto layer = owners_end; layer != pattern.layers.end(); ++layer) {
    const auto owner = std::find_if(std::make_reverse_iterator(owners_end), pattern.layers.rend(),
                                    [&](const LayerTraits& earlier) { return earlier.type == layer->type; });
    if (owner == pattern.layers.rend()) {
      const auto place = scope.peek(keys::kSharedKv);
      if (!place) return;
      return scope.reader().fail(
          *place, ErrorKind::missing_layer_type, formatted("a {} layer among the first {}", name(layer->type), first),
          formatted("layer {} is of that type and has no keys of its own", layer - pattern.layers.begin()));
    }
    layer->kv_from = pattern.layers.rend() - owner - 1;
  }
}

using io::JsonKind;
using io::JsonValue;
using Types = std::vector<LayerType>;

constexpr Bounds kWindows{1, kMaxPosition};
constexpr Bounds kWindowsOrNone{0, kMaxPosition};
constexpr Bounds kPeriods{1, kMaxLayers};

// The layers for which `holds` are of that type, the others full.
template <typename Rule>
Types types_where(std::int64_t layers, Rule holds, LayerType type = LayerType::sliding) {
  Types types(static_cast<std::size_t>(layers), LayerType::full);
  for (std::int64_t i = 0; i < layers; ++i) {
    if (holds(i)) types[static_cast<std::size_t>(i)] = type;
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

std::optional<Sourced<Types>> listed_types(ConfigScope& scope, std::int64_t layers) {
  const auto list = read_layer_list(scope, keys::kLayerTypes, layers);
  if (!list) return {};
  Sourced<Types> types{{}, list->place.from};
  // Where the list says the kinds of layers too (layer_kinds), other names than these are full layers.
  const bool has_kinds = scope.family().kinds == Kinds::listed || scope.family().kinds == Kinds::named;
  for (const JsonValue& entry : list->entries) {
    const auto type = has_kinds && !layer_type(entry.text()) ? LayerType::full : type_at(scope.reader(), entry);
    types.value.push_back(type.value_or(LayerType::full));
  }
  return types;
}

std::optional<LayerType> letter_type(ConfigReader& reader, const Place& place, std::string_view letter) {
  const auto type = layer_type(letter);
  if (!type) reader.fail(place, ErrorKind::out_of_range, "a text of the letters L (local) and G (global)");
  return type;
}

// What a text of letters or a list says of its first layers, as far as it reaches; nothing after an error.
Types pattern_unit(ConfigReader& reader, const Place& place, std::int64_t layers) {
  Types unit;
  const auto add = [&](std::optional<LayerType> type) {
    if (type) unit.push_back(*type);
    return type.has_value();
  };
  const auto reach = static_cast<std::size_t>(layers);
  if (place.value.kind() == JsonKind::string) {
    const std::string_view letters = place.value.text().substr(0, reach);
    for (std::size_t i = 0; i < letters.size(); ++i) {
      if (!add(letter_type(reader, place, letters.substr(i, 1)))) break;
    }
  } else if (const auto entries = reader.list(place)) {
    for (std::size_t i = 0; i < std::min(entries->size(), reach); ++i) {
      if (!add(type_at(reader, (*entries)[i]))) break;
    }
  }
  if (unit.empty()) reader.fail(place, ErrorKind::out_of_range, "at least one entry");
  return unit;
}

// 6: each sixth layer is full. "LLLG" or a list: repeated; with letters the last layer is full whatever they say.
Types pattern_types(ConfigScope& scope, const Place& place, std::int64_t layers) {
  if (place.value.kind() == JsonKind::number) {
    const std::int64_t n = scope.reader().integer(place, {0, kMaxPosition}).value_or(0);
    return types_where(layers, [n](std::int64_t i) { return n != 0 && (i + 1) % n != 0; });
  }
  Types types = pattern_unit(scope.reader(), place, layers);
  if (scope.reader().failed()) return Types(static_cast<std::size_t>(layers), LayerType::full);
  const std::size_t period = types.size();
  for (std::size_t i = period; i < static_cast<std::size_t>(layers); ++i) types.push_back(types[i - period]);
  if (place.value.kind() == JsonKind::string) types.back() = LayerType::full;
  return types;
}

Sourced<Types> patterned_types(ConfigScope& scope, std::int64_t layers) {
  ConfigReader& reader = scope.reader();
  std::optional<Sourced<Types>> types = listed_types(scope, layers);
  for (std::string_view name : keys::kWindowPattern.names) {
    const auto place = reader.look(scope.object(), name);
    if (!place || place->value.is_null()) continue;
    if (!scope.reads(name)) {
      scope.pass_over(*place);
      continue;
    }
    const Types said = pattern_types(scope, *place, layers);
    if (!types) {
      reader.mark_read(*place);
      types = {said, place->from};
    } else if (said != types->value) {
      reader.warn("precedence",
                  formatted("{} and {} give different layers a window; the first wins.", types->from, place->from),
                  {types->from, place->from});
    }
  }
  if (types) return *types;
  if (scope.family().needs_types) scope.fail_missing(keys::kLayerTypes);
  if (const auto place = scope.class_default(keys::kWindowPattern)) {
    return {pattern_types(scope, *place, layers), place->from};
  }
  const std::int64_t n = scope.family().default_pattern;
  if (n == 0) return {Types(static_cast<std::size_t>(layers), LayerType::full), family_default(scope.family())};
  const std::int64_t full = scope.family().first_of_pattern ? 0 : n - 1;
  return {types_where(layers, [n, full](std::int64_t i) { return i % n != full; }),
          formatted("default: one layer in {} of the {} family is full", n, scope.family().name)};
}

// Families whose class makes layer_types from another key, where the file has none.
Sourced<Types> derived_types(ConfigScope& scope, std::int64_t layers, const LayerPattern& pattern) {
  const Windows rule = scope.windows();
  const auto rotates = [&](std::int64_t i) { return pattern.layers[static_cast<std::size_t>(i)].rotates; };
  if (rule == Windows::chunked_rotary) return {types_where(layers, rotates, LayerType::chunked), pattern.rotary_from};
  if (rule == Windows::nope_layers) return {types_where(layers, std::not_fn(rotates)), pattern.rotary_from};
  if (rule == Windows::listed_or_every) {
    return {Types(static_cast<std::size_t>(layers), LayerType::sliding), pattern.window.from};
  }
  if (rule == Windows::but_each_nth || rule == Windows::but_last_of_n) {
    const Sourced<std::int64_t> n = scope.required_integer(keys::kGlobalInterval, kPeriods);
    const std::int64_t full = rule == Windows::but_each_nth ? 0 : n.value - 1;
    return {types_where(layers, [&](std::int64_t i) { return i % n.value != full; }), n.from};
  }
  const Sourced<std::int64_t> border = scope.required_integer(keys::kMaxWindowLayers, {0, kMaxPosition});
  const auto late = [&](std::int64_t i) { return i >= border.value; };
  const auto early_even = [&](std::int64_t i) { return i % 2 == 0 && i < border.value; };
  return {rule == Windows::early_even ? types_where(layers, early_even) : types_where(layers, late), border.from};
}

Sourced<Types> flagged_types(ConfigScope& scope, std::int64_t layers) {
  const auto list = read_layer_list(scope, keys::kWindowFlags, layers);
  if (!list) return {Types(static_cast<std::size_t>(layers), LayerType::full), family_default(scope.family())};
  Sourced<Types> types{{}, list->place.from};
  for (const JsonValue& entry : list->entries) {
    types.value.push_back(is_marked(scope.reader(), entry) ? LayerType::sliding : LayerType::full);
  }
  return types;
}

// The layers that the key lists, counted from 0, are of that type, the others of the other.
Sourced<Types> numbered_types(ConfigScope& scope, const Key& key, LayerType listed, std::int64_t layers) {
  const LayerType other = listed == LayerType::full ? LayerType::sliding : LayerType::full;
  Sourced<Types> types{Types(static_cast<std::size_t>(layers), other), family_default(scope.family())};
  const auto place = scope.find(key);
  if (place && place->value.is_null()) return types;
  const auto entries = place ? scope.reader().list(*place) : std::nullopt;
  if (!entries) {
    if (!place) scope.require(key);
    return types;
  }
  types.from = place->from;
  for (const JsonValue& entry : *entries) {
    const auto index = scope.reader().integer(Place{entry, entry.pointer()}, {0, layers - 1});
    if (!index) break;
    types.value[static_cast<std::size_t>(*index)] = listed;
  }
  return types;
}

Sourced<Types> read_types(ConfigScope& scope, std::int64_t layers, const LayerPattern& pattern) {
  const Types full(static_cast<std::size_t>(layers), LayerType::full);
  const Windows rule = scope.windows();
  if (rule == Windows::none) return {full, family_default(scope.family())};
  if (rule == Windows::chunk_types) return read_chunk_types(scope, layers);
  if (rule == Windows::numbered) return numbered_types(scope, keys::kNumberedWindows, LayerType::sliding, layers);
  if (rule == Windows::but_numbered) return numbered_types(scope, keys::kNumberedFull, LayerType::full, layers);
  if (rule == Windows::first_half && pattern.window.value) {
    return {types_where(layers, [&](std::int64_t i) { return i < layers / 2; }), pattern.window.from};
  }
  if (rule == Windows::left_sides) {
    const auto has_width = [&](std::int64_t i) { return pattern.layers[static_cast<std::size_t>(i)].width > 0; };
    return {types_where(layers, has_width), pattern.window.from};
  }
  if (rule == Windows::window_list || rule == Windows::pairs)
    return {Types(full.size(), LayerType::sliding), pattern.window.from};
  const Setting<std::int64_t>& limit = rule == Windows::chunked_rotary ? pattern.chunk : pattern.window;
  // Without a window the types mean nothing, unless each has a rotation of its own.
  if (!limit.value && !scope.family().ropes_per_type) return {full, limit.from};
  if (rule == Windows::attention_types) return read_attention_types(scope, layers);
  if (rule == Windows::every_layer) return {Types(full.size(), LayerType::sliding), limit.from};
  if (rule == Windows::patterned) return patterned_types(scope, layers);
  if (rule == Windows::flagged) return flagged_types(scope, layers);
  if (auto listed = listed_types(scope, layers)) return *listed;
  return derived_types(scope, layers, pattern);
}

// Mistral's params.json: one window for every layer, or a list that repeats, null where a layer sees everything.
Sourced<Types> windows_in_list(ConfigScope& scope, const Place& place, std::int64_t layers, LayerPattern& pattern) {
  const std::vector<JsonValue> entries = place.value.items();
  if (entries.empty()) scope.reader().fail(place, ErrorKind::out_of_range, "at least one entry");
  Types types;
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers) && !scope.reader().failed(); ++i) {
    const JsonValue& entry = entries[i % entries.size()];
    types.push_back(entry.is_null() ? LayerType::full : LayerType::sliding);
    if (entry.is_null()) continue;
    const Place at{entry, entry.pointer()};
    const auto window = scope.reader().integer(at, kWindows);
    if (pattern.window.value && window && *window != *pattern.window.value) {
      scope.reader().fail(at, ErrorKind::out_of_range, "the same window in every layer that has one");
    }
    if (window) pattern.window = {window, place.from};
  }
  scope.reader().mark_read(place);
  types.resize(static_cast<std::size_t>(layers), LayerType::full);
  return {std::move(types), place.from};
}

Sourced<Types> listed_windows(ConfigScope& scope, std::int64_t layers, LayerPattern& pattern) {
  const auto place = scope.peek(keys::kWindow);
  if (place && place->value.kind() == JsonKind::array) return windows_in_list(scope, *place, layers, pattern);
  pattern.window = scope.integer(keys::kWindow, kWindows);
  if (pattern.window.from.empty()) pattern.window.from = family_default(scope.family());
  const LayerType type = pattern.window.value ? LayerType::sliding : LayerType::full;
  return {Types(static_cast<std::size_t>(layers), type), pattern.window.from};
}

// Masks by layer_types slide though the switch is off, and kernels that are told the window do not (SmolLM3).
void require_no_listed_windows(ConfigScope& scope, const Setting<bool>& use) {
  const auto types = scope.peek(keys::kLayerTypes);
  const auto words = types && types->in_file ? types->value.items() : std::vector<JsonValue>{};
  const auto slides = [](const JsonValue& word) {
    return word.kind() == JsonKind::string && word.text() == "sliding_attention";
  };
  if (std::ranges::none_of(words, slides)) return;
  scope.reader().undecided(formatted("{} has layers that slide, and {} is not true.", types->from,
                                     use.from.starts_with('/') ? use.from : std::string(keys::kUseWindow.name())),
                           {types->from});
}

// How far a sliding layer or a chunk reaches; nothing, with the reason, where no layer has such a limit. A window of 0
// is one: classes ask whether there is a number, and hide every key by this one where a layer slides (layer_masks.cpp).
Setting<std::int64_t> read_limit(ConfigScope& scope, const Key& key, Bounds bounds) {
  if (scope.family().window_switch) {
    const Setting<bool> use = scope.flag(keys::kUseWindow);
    if (!use.value || !*use.value) {
      require_no_listed_windows(scope, use);
      return {{}, use.from};
    }
  }
  Setting<std::int64_t> limit = scope.integer(key, bounds);
  if (limit.from.empty()) limit.from = family_default(scope.family());
  if (limit.value && scope.family().window_beside_own) limit.value = std::min(*limit.value + 1, kMaxPosition);
  return limit;
}

// The width stands in an object in an object (Jet-Nemotron: efficient_attention_config/swa).
Setting<std::int64_t> read_inner_limit(ConfigScope& scope) {
  ConfigReader& reader = scope.reader();
  JsonValue object = scope.object();
  for (std::string_view path = scope.family().window_object; !path.empty();) {
    const std::size_t slash = path.find('/');
    const auto next = reader.look(object, path.substr(0, slash));
    if (!next || next->value.kind() != JsonKind::object) return {{}, family_default(scope.family())};
    reader.enter(next->value);
    object = next->value;
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  const auto place = reader.look(object, keys::kWindowWidth.name());
  if (!place) return {{}, family_default(scope.family())};
  reader.mark_read(*place);
  std::optional<std::int64_t> width = reader.integer(*place, {1, kMaxPosition - 1});
  if (width && scope.family().window_beside_own) ++*width;
  return {width, place->from};
}

// [left, right] a layer: 0 <= i - j < left, or 0 < j - i < right.
void read_window_pairs(ConfigScope& scope, LayerPattern& pattern) {
  constexpr std::size_t kSides = 2;
  ConfigReader& reader = scope.reader();
  const auto list = read_layer_list(scope, keys::kWindowPairs, static_cast<std::int64_t>(pattern.layers.size()));
  if (!list) return scope.require(keys::kWindowPairs);
  pattern.window.from = list->place.from;
  for (std::size_t i = 0; i < pattern.layers.size(); ++i) {
    const bool in_file = list->place.in_file;
    const JsonValue& entry = list->entries[i];
    const Place pair{entry, in_file ? entry.pointer() : list->place.from, in_file};
    const auto sides = reader.list(pair);
    if (!sides) return;
    if (sides->size() != kSides) return reader.fail(pair, ErrorKind::length_mismatch, "two numbers, left and right");
    const auto side = [&](std::size_t at) { return Place{(*sides)[at], pair.from, in_file}; };
    pattern.layers[i].width = reader.integer(side(0), kWindows).value_or(1);
    pattern.layers[i].ahead = std::max<std::int64_t>(reader.integer(side(1), {0, kMaxPosition}).value_or(0) - 1, 0);
  }
}

// [left, right] a layer: so many tokens before its own are seen; below 1: all.
void read_left_sides(ConfigScope& scope, LayerPattern& pattern) {
  ConfigReader& reader = scope.reader();
  const auto list = read_layer_list(scope, keys::kWindowSides, static_cast<std::int64_t>(pattern.layers.size()));
  if (!list) return scope.require(keys::kWindowSides);
  pattern.window.from = list->place.from;
  for (std::size_t i = 0; i < pattern.layers.size(); ++i) {
    const Place pair{list->entries[i], list->entries[i].pointer()};
    const auto sides = reader.list(pair);
    if (!sides) return;
    if (sides->empty()) return reader.fail(pair, ErrorKind::length_mismatch, "at least one number, the left side");
    const auto left = reader.integer(Place{sides->front(), sides->front().pointer()}, {-1, kMaxPosition - 1});
    pattern.layers[i].width = left.value_or(0) > 0 ? *left + 1 : 0;
  }
}

bool has_listed_windows(ConfigScope& scope) {
  if (scope.windows() != Windows::first_half) return scope.windows() == Windows::listed;
  const auto place = scope.peek(keys::kWindow);
  return place && place->value.kind() == JsonKind::array;
}

// How far windows and chunks reach.
void read_limits(ConfigScope& scope, LayerPattern& pattern) {
  switch (scope.windows()) {
    case Windows::none:
    case Windows::listed:
    case Windows::chunk_types: return;
    case Windows::first_half:
      if (!has_listed_windows(scope)) pattern.window = read_limit(scope, keys::kWindow, kWindowsOrNone);
      return;
    case Windows::chunked_rotary: pattern.chunk = read_limit(scope, keys::kChunk, kWindows); return;
    case Windows::window_list: {
      Sourced<std::vector<std::int64_t>> widths =
          read_window_list(scope, static_cast<std::int64_t>(pattern.layers.size()));
      for (std::size_t i = 0; i < std::min(widths.value.size(), pattern.layers.size()); ++i) {
        pattern.layers[i].width = widths.value[i];
      }
      pattern.window.from = std::move(widths.from);
      return;
    }
    case Windows::pairs: return read_window_pairs(scope, pattern);
    case Windows::left_sides: return read_left_sides(scope, pattern);
    default:
      pattern.window = scope.family().window_object.empty() ? read_limit(scope, keys::kWindow, kWindowsOrNone)
                                                            : read_inner_limit(scope);
  }
}

void read_rotary_list(ConfigScope& scope, LayerPattern& pattern) {
  const auto layers = static_cast<std::int64_t>(pattern.layers.size());
  if (const auto list = read_layer_list(scope, keys::kRotatingLayers, layers)) {
    for (std::size_t i = 0; i < pattern.layers.size(); ++i)
      pattern.layers[i].rotates = list->entries[i].kind() == JsonKind::string
                                      ? list->entries[i].text() == "rope"
                                      : is_marked(scope.reader(), list->entries[i]);
    pattern.rotary_from = list->place.from;
    return;
  }
  const Setting<std::int64_t> interval = scope.integer(keys::kNopeInterval, kPeriods);
  if (!interval.value) return;
  for (std::int64_t i = 0; i < layers; ++i)
    pattern.layers[static_cast<std::size_t>(i)].rotates = (i + 1) % *interval.value != 0;
  pattern.rotary_from = interval.from;
}

void let_sliding_layers_rotate(ConfigScope& scope, LayerPattern& pattern) {
  const bool all = scope.family().rotary_layers == RotaryLayers::sliding_or_windowless && !pattern.window.value;
  for (LayerTraits& layer : pattern.layers) {
    layer.rotates = all || (layer.type == LayerType::sliding && pattern.window.value);
  }
  pattern.rotary_from = pattern.window.value ? pattern.types_from : pattern.window.from;
}

// Windows that per_layer_config gives to single layers.
void read_own_windows(ConfigScope& scope, LayerPattern& pattern) {
  for (const LayerEntry& entry : read_layer_entries(scope, static_cast<std::int64_t>(pattern.layers.size()))) {
    const auto place = scope.reader().look(entry.object, keys::kWindow.name());
    LayerTraits& layer = pattern.layers[entry.layer];
    if (!place || layer.type != LayerType::sliding) continue;
    scope.reader().mark_read(*place);
    layer.width = scope.reader().integer(*place, kWindows).value_or(0);
  }
}

// What lies in mlp_layer_types is of the layer's other half; but Command A+'s dense layers rotate though they are full.
void let_dense_layers_rotate(ConfigScope& scope, LayerPattern& pattern) {
  const auto list = read_layer_list(scope, keys::kMlpTypes, static_cast<std::int64_t>(pattern.layers.size()));
  if (!list) return;
  const auto is_dense = [](const JsonValue& type) { return type.text() == "dense"; };
  if (std::ranges::none_of(list->entries, is_dense)) {
    if (const auto unasked = scope.peek(keys::kPrefixPattern)) scope.reader().mark_read(*unasked);
    return;
  }
  if (scope.required_integer(keys::kPrefixPattern, kPeriods).value != 1) return;
  for (std::size_t i = 0; i < pattern.layers.size(); ++i) {
    if (is_dense(list->entries[i])) pattern.layers[i].rotates = true;
  }
}

void make_last_full(ConfigScope& scope, LayerPattern& pattern) {
  LayerType& last = pattern.layers.back().type;
  if (last == LayerType::full) return;
  if (scope.family().last_full_by_pattern && pattern.types_from.starts_with('/')) return;
  last = LayerType::full;
  if (!pattern.types_from.starts_with('/')) return;  // the class's own pattern
  scope.reader().warn(
      "misleading-key",
      formatted("{}: the last layer of a {} model is full whatever is said.", pattern.types_from, scope.family().name),
      pattern.types_from.starts_with('/') ? std::vector{pattern.types_from} : std::vector<std::string>{});
}

// Layers that look at another sequence rotate in few families; layers without attention have no other trait.
void set_kinds(Sourced<std::vector<LayerKind>> kinds, bool rotates_crossing, LayerPattern& pattern) {
  for (std::size_t i = 0; i < std::min(pattern.layers.size(), kinds.value.size()); ++i) {
    LayerTraits& layer = pattern.layers[i];
    if (!attends(kinds.value[i])) layer = {};
    layer.kind = kinds.value[i];
    if (layer.kind != LayerKind::attention && !rotates_crossing) layer.rotates = false;
  }
  pattern.kinds_from = std::move(kinds.from);
}

}  // namespace

LayerPattern read_layer_pattern(ConfigScope& scope, std::int64_t layers) {
  LayerPattern pattern;
  pattern.layers.resize(static_cast<std::size_t>(layers));
  pattern.rotary_from = family_default(scope.family());
  if (scope.family().rotary_layers == RotaryLayers::listed) read_rotary_list(scope, pattern);
  read_limits(scope, pattern);
  Sourced<Types> types =
      has_listed_windows(scope) ? listed_windows(scope, layers, pattern) : read_types(scope, layers, pattern);
  if (scope.reader().failed()) return pattern;
  for (std::size_t i = 0; i < pattern.layers.size(); ++i) pattern.layers[i].type = types.value[i];
  pattern.types_from = std::move(types.from);
  if (scope.family().last_layer_full) make_last_full(scope, pattern);
  read_own_windows(scope, pattern);
  const RotaryLayers rotary_layers = scope.family().rotary_layers;
  if (rotary_layers == RotaryLayers::sliding_layers || rotary_layers == RotaryLayers::sliding_or_windowless ||
      rotary_layers == RotaryLayers::sliding_or_dense) {
    let_sliding_layers_rotate(scope, pattern);
  }
  if (rotary_layers == RotaryLayers::sliding_or_dense) let_dense_layers_rotate(scope, pattern);
  if (rotary_layers == RotaryLayers::no_layer)
    std::ranges::for_each(pattern.layers, [](LayerTraits& layer) { layer.rotates = false; });
  read_kv_sharing(scope, pattern);
  read_rope_lists(scope, pattern);
  read_compression(scope, pattern);
  set_kinds(read_layer_kinds(scope, layers), scope.family().rotates_crossing, pattern);
  return pattern;
}

}  // namespace posenc::plan
