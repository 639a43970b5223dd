// Lists of what each layer sees: GPT-Neo's attention_types, Reformer's attn_layers, Longformer's attention_window.
#include <algorithm>
#include <string_view>
#include <utility>

#include "base/formatted.h"
#include "plan/layers/layers.h"

namespace posenc::plan {
namespace {

using io::JsonValue;
using TypeList = Sourced<std::vector<LayerType>>;

struct Word {
  std::string_view word;
  LayerType type;
};
constexpr Word kGptNeoWords[] = {{"global", LayerType::full}, {"local", LayerType::sliding}};
constexpr Word kReformerWords[] = {{"local", LayerType::nearby_chunks}, {"lsh", LayerType::hashed_chunks}};

LayerType type_of(ConfigReader& reader, const JsonValue& entry, std::span<const Word> words) {
  const Place place{entry, entry.pointer()};
  const auto text = reader.string(place);
  const auto row = std::ranges::find(words, text.value_or(std::string_view{}), &Word::word);
  if (row != words.end()) return row->type;
  if (text) {
    reader.fail(place, ErrorKind::out_of_range, formatted("{} or {}", words[0].word, words[1].word));
  }
  return words[0].type;
}

std::vector<LayerType> types_of(ConfigReader& reader, const std::vector<JsonValue>& entries,
                                std::span<const Word> words) {
  std::vector<LayerType> types;
  for (const JsonValue& entry : entries) types.push_back(type_of(reader, entry, words));
  return types;
}

// [[["global", "local"], 12], ...]: each group is repeated so often. Stops one past the layers that there are.
std::vector<LayerType> expanded(ConfigReader& reader, const Place& place, std::int64_t layers) {
  std::vector<LayerType> types;
  for (const JsonValue& group : reader.list(place).value_or(std::vector<JsonValue>{})) {
    const Place group_place{group, group.pointer()};
    const auto pair = reader.list(group_place);
    if (!pair) return types;
    if (pair->size() != 2) {
      reader.fail(group_place, ErrorKind::length_mismatch, "a list of words and how often it is repeated");
      return types;
    }
    const auto words = reader.list({(*pair)[0], (*pair)[0].pointer()});
    const auto times = reader.integer({(*pair)[1], (*pair)[1].pointer()}, {0, kMaxLayers});
    if (!words || !times) return types;
    const std::vector<LayerType> unit = types_of(reader, *words, kGptNeoWords);
    for (std::int64_t i = 0; i < *times && static_cast<std::int64_t>(types.size()) <= layers; ++i) {
      types.insert(types.end(), unit.begin(), unit.end());
    }
  }
  return types;
}

void require_one_a_layer(ConfigReader& reader, const Place& place, std::size_t entries, std::int64_t layers) {
  if (reader.failed() || static_cast<std::int64_t>(entries) == layers) return;
  reader.fail(place, ErrorKind::length_mismatch, formatted("one type for each of {} layers", layers));
}

std::int64_t even_width(ConfigScope& scope, const Place& place) {
  const std::int64_t width = scope.reader().integer(place, {2, kMaxPosition}).value_or(2);
  if (width % 2 != 0) scope.reader().fail(place, ErrorKind::out_of_range, "an even number, half for each side");
  return width;
}

std::optional<Place> find_chunk_types(ConfigScope& scope) {
  auto place = scope.find(keys::kChunkTypes);
  if (!place) scope.fail_missing(keys::kChunkTypes);
  return place;
}

}  // namespace

// The class expands attention_types to attention_layers, and takes a file's instead: it is no field, and set last.
TypeList read_attention_types(ConfigScope& scope, std::int64_t layers) {
  ConfigReader& reader = scope.reader();
  const auto groups = scope.peek(keys::kAttentionTypes);
  const auto listed = scope.peek(keys::kAttentionLayers);
  std::vector<LayerType> said;
  if (listed) said = types_of(reader, reader.list(*listed).value_or(std::vector<JsonValue>{}), kGptNeoWords);
  if (listed) {
    reader.mark_read(*listed);
    require_one_a_layer(reader, *listed, said.size(), layers);
    const bool differ = groups && groups->in_file && expanded(reader, *groups, layers) != said;
    if (differ)
      reader.settle(*listed, *groups);
    else if (groups && groups->in_file)
      reader.mark_lost(*groups);
    return {std::move(said), listed->from};
  }
  if (!groups) {
    scope.fail_missing(keys::kAttentionTypes);
    return {};
  }
  reader.mark_read(*groups);
  TypeList types{expanded(reader, *groups, layers), groups->from};
  require_one_a_layer(reader, *groups, types.value.size(), layers);
  return types;
}

TypeList read_chunk_types(ConfigScope& scope, std::int64_t layers) {
  const auto place = find_chunk_types(scope);
  if (!place) return {};
  const auto entries = scope.reader().list(*place);
  if (!entries) return {};
  require_one_a_layer(scope.reader(), *place, entries->size(), layers);
  return {types_of(scope.reader(), *entries, kReformerWords), place->from};
}

Sourced<std::int64_t> count_chunk_types(ConfigScope& scope) {
  const auto place = find_chunk_types(scope);
  if (!place) return {};
  const auto entries = scope.reader().list(*place);
  if (!entries) return {};
  const auto count = static_cast<std::int64_t>(entries->size());
  if (count < 1 || count > kMaxLayers) {
    scope.reader().fail(*place, ErrorKind::length_mismatch, formatted("1 to {} layers", kMaxLayers));
    return {};
  }
  const auto other = scope.reader().look(scope.object(), keys::kLayers.name());
  if (other && !other->value.is_null() && scope.reader().integer(*other, {0, kMaxPosition}) != count) {
    scope.reader().warn("precedence",
                        formatted("{} has {} entries and {} is {}; the first wins.", place->from, count, other->from,
                                  shown(other->value)),
                        {place->from, other->from});
  }
  return {count, place->from};
}

Sourced<std::vector<std::int64_t>> read_window_list(ConfigScope& scope, std::int64_t layers) {
  const auto place = scope.peek(keys::kTwoSidedWindow);
  if (!place) {
    scope.fail_missing(keys::kTwoSidedWindow);
    return {};
  }
  scope.reader().mark_read(*place);
  if (place->value.kind() == io::JsonKind::number) {
    return {std::vector(static_cast<std::size_t>(layers), even_width(scope, *place)), place->from};
  }
  Sourced<std::vector<std::int64_t>> widths{{}, place->from};
  for (const JsonValue& entry : scope.reader().list(*place).value_or(std::vector<JsonValue>{})) {
    widths.value.push_back(even_width(scope, {entry, entry.pointer()}));
  }
  require_one_a_layer(scope.reader(), *place, widths.value.size(), layers);
  return widths;
}

}  // namespace posenc::plan
