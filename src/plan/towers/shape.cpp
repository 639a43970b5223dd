// Layers, heads, KV heads and channels of a head of a tower, from the keys that its row names.
#include <utility>

#include "base/formatted.h"
#include "plan/towers/towers.h"

namespace posenc::plan {
namespace {

constexpr Bounds kTowerHeadCounts{1, kMaxHeads};

// A word a layer.
void read_layer_words(ConfigScope& scope, const Key& key, std::int64_t room, TowerShape& shape) {
  const auto place = scope.find(key);
  if (!place) return scope.fail_missing(key);
  const auto list = scope.reader().list(*place);
  if (!list) return;
  if (list->empty() || static_cast<std::int64_t>(list->size()) > room) {
    return scope.fail(key, ErrorKind::length_mismatch, formatted("1 to {} layers", room));
  }
  for (const io::JsonValue& entry : *list) {
    const Place at{entry, place->in_file ? entry.pointer() : place->from, place->in_file};
    const auto word = scope.reader().string(at);
    if (!word) return;
    if (*word != "cross" && *word != "self") {
      return scope.reader().fail(at, ErrorKind::out_of_range, R"("self" or "cross")");
    }
    shape.crosses.push_back(*word == "cross");
  }
  shape.layers = static_cast<std::int64_t>(shape.crosses.size());
  shape.layers_from = place->from;
}

void read_layers(ConfigScope& scope, const Tower& tower, std::int64_t room, TowerShape& shape) {
  if (tower.words != nullptr) return read_layer_words(scope, *tower.words, room, shape);
  if (tower.layers == nullptr) {
    shape.layers_from = family_default(tower.family);
    return;
  }
  const Sourced<std::int64_t> layers = scope.required_size(*tower.layers, {1, room});
  shape.layers = layers.value;
  shape.layers_from = layers.from;
  if (tower.more_layers == nullptr || scope.reader().failed()) return;
  shape.layers += scope.required_integer(*tower.more_layers, {0, room - layers.value}).value;
}

Sourced<std::int64_t> width_over_heads(ConfigScope& scope, const Key& key, const Sourced<std::int64_t>& heads) {
  const Sourced<std::int64_t> width = scope.required_integer(key, {1, kMaxHiddenSize});
  if (scope.reader().failed()) return {};
  const std::int64_t channels = width.value / heads.value;
  if (width.value % heads.value != 0) {
    scope.fail(key, ErrorKind::not_divisible, formatted("a multiple of the {} heads", heads.value));
  } else if (channels > kMaxHeadDim) {
    scope.fail(key, ErrorKind::out_of_range, formatted("at most {} channels a head", kMaxHeadDim),
               formatted("{} / {} = {}", width.value, heads.value, channels));
  }
  return {channels, width.from};
}

void read_head_dim(ConfigScope& scope, const Tower& tower, TowerShape& shape) {
  // Many classes ask for a width of heads that their configurations do not declare.
  const bool asks = scope.has_class() && scope.reads(keys::kHeadDim.name());
  if (const Key* key = tower.head_dim != nullptr ? tower.head_dim : asks ? &keys::kHeadDim : nullptr) {
    Setting<std::int64_t> given = scope.size(*key, {1, kMaxHeadDim});
    shape.width_key = key;
    if (given.value) shape.head_dim = {*given.value, std::move(given.from)};
    if (given.value || scope.reader().failed()) return;
  }
  if (tower.width == nullptr) return;
  shape.width_key = tower.width;
  shape.head_dim = width_over_heads(scope, *tower.width, shape.heads);
}

// Sapiens 2: layers in the middle have fewer.
void read_layer_kv_heads(ConfigScope& scope, TowerShape& shape) {
  const auto count = static_cast<std::size_t>(shape.layers);
  const auto given = scope.peek(keys::kLayerKvHeads);
  if (given && !given->value.is_null()) {
    shape.layer_kv_heads = read_each(scope, keys::kLayerKvHeads, count, kTowerHeadCounts);
  } else {
    const Sourced<std::int64_t> grouped = scope.required_integer(keys::kGroupedKvHeads, kTowerHeadCounts);
    const std::int64_t first = scope.required_integer(keys::kFirstFullHeads, {0, kMaxLayers}).value;
    const std::int64_t last = scope.required_integer(keys::kLastFullHeads, {0, kMaxLayers}).value;
    shape.layer_kv_heads = {std::vector<std::int64_t>(count, shape.heads.value), grouped.from};
    for (std::int64_t i = first; i < shape.layers - last; ++i) {
      shape.layer_kv_heads.value[static_cast<std::size_t>(i)] = grouped.value;
    }
  }
  if (scope.reader().failed()) return;
  for (const std::int64_t heads : shape.layer_kv_heads.value) {
    if (shape.heads.value % heads == 0) continue;
    scope.fail(given && !given->value.is_null() ? keys::kLayerKvHeads : keys::kGroupedKvHeads, ErrorKind::not_divisible,
               formatted("divisors of the {} heads", shape.heads.value));
    return;
  }
}

// The class divides and drops the rest, which torch then refuses.
void read_fixed_heads(ConfigScope& scope, const Tower& tower, TowerShape& shape) {
  const Sourced<std::int64_t> width = scope.required_integer(*tower.width, {1, kMaxHiddenSize});
  if (scope.reader().failed()) return;
  if (width.value % tower.fixed_head_dim != 0 || width.value / tower.fixed_head_dim > kMaxHeads) {
    scope.fail(*tower.width, ErrorKind::not_divisible,
               formatted("up to {} heads of {} channels", kMaxHeads, tower.fixed_head_dim));
    return;
  }
  shape.heads = {width.value / tower.fixed_head_dim, width.from};
  shape.kv_heads = {shape.heads.value, "default: as many as heads"};
  shape.head_dim = {tower.fixed_head_dim, family_default(tower.family)};
  shape.width_key = tower.width;
}

}  // namespace

TowerShape read_tower_shape(ConfigScope& scope, const Tower& tower, std::int64_t room) {
  TowerShape shape;
  read_layers(scope, tower, room, shape);
  if (tower.fixed_head_dim != 0) read_fixed_heads(scope, tower, shape);
  if (tower.heads == nullptr) return shape;
  shape.heads = scope.required_size(*tower.heads, kTowerHeadCounts);
  shape.kv_heads = {shape.heads.value, "default: as many as heads"};
  if (tower.kv_heads != nullptr) {
    shape.kv_heads = given_or(scope.integer(*tower.kv_heads, kTowerHeadCounts), shape.kv_heads);
    if (!scope.reader().failed() && shape.heads.value % shape.kv_heads.value != 0) {
      scope.fail(*tower.kv_heads, ErrorKind::not_divisible, formatted("a divisor of the {} heads", shape.heads.value));
    }
  }
  if (tower.kv_heads_by_layer && !scope.reader().failed()) read_layer_kv_heads(scope, shape);
  if (!scope.reader().failed()) read_head_dim(scope, tower, shape);
  return shape;
}

}  // namespace posenc::plan
