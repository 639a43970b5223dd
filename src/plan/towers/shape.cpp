#include "plan/towers/shape.h"

#include <utility>

#include "base/formatted.h"

namespace posenc::plan {
namespace {

constexpr Bounds kTowerHeadCounts{1, kMaxHeads};

void read_layers(ConfigScope& scope, const Tower& tower, std::int64_t room, TowerShape& shape) {
  if (tower.layers == nullptr) {
    shape.layers_from = family_default(tower.family);
    return;
  }
  const Sourced<std::int64_t> layers = scope.required_integer(*tower.layers, {1, room});
  shape.layers = layers.value;
  shape.layers_from = layers.from;
  if (tower.more_layers == nullptr || scope.reader().failed()) return;
  shape.layers += scope.required_integer(*tower.more_layers, {0, room - layers.value}).value;
}

Sourced<std::int64_t> width_over_heads(ConfigScope& scope, const Key& key, const Sourced<std::int64_t>& heads) {
  const Sourced<std::int64_t> width = scope.required_integer(key, {1, kMaxHiddenSize});
  const auto place = scope.peek(key);
  if (scope.reader().failed() || !place) return {};
  const std::int64_t channels = width.value / heads.value;
  if (width.value % heads.value != 0) {
    scope.reader().fail(*place, ErrorKind::not_divisible, formatted("a multiple of the {} heads", heads.value));
  } else if (channels > kMaxHeadDim) {
    scope.reader().fail(*place, ErrorKind::out_of_range, formatted("at most {} channels a head", kMaxHeadDim),
                        formatted("{} / {} = {}", width.value, heads.value, channels));
  }
  return {channels, width.from};
}

void read_head_dim(ConfigScope& scope, const Tower& tower, TowerShape& shape) {
  if (tower.head_dim != nullptr) {
    Setting<std::int64_t> given = scope.integer(*tower.head_dim, {1, kMaxHeadDim});
    shape.width_key = tower.head_dim;
    if (given.value) shape.head_dim = {*given.value, std::move(given.from)};
    if (given.value || scope.reader().failed()) return;
  }
  if (tower.width == nullptr) return;
  shape.width_key = tower.width;
  shape.head_dim = width_over_heads(scope, *tower.width, shape.heads);
}

}  // namespace

TowerShape read_tower_shape(ConfigScope& scope, const Tower& tower, std::int64_t room) {
  TowerShape shape;
  read_layers(scope, tower, room, shape);
  if (tower.heads == nullptr) return shape;
  shape.heads = scope.required_integer(*tower.heads, kTowerHeadCounts);
  shape.kv_heads = {shape.heads.value, "default: as many as heads"};
  if (tower.kv_heads != nullptr) {
    Setting<std::int64_t> given = scope.integer(*tower.kv_heads, kTowerHeadCounts);
    if (given.value) shape.kv_heads = {*given.value, std::move(given.from)};
    const auto place = scope.peek(*tower.kv_heads);
    if (place && !scope.reader().failed() && shape.heads.value % shape.kv_heads.value != 0) {
      scope.reader().fail(*place, ErrorKind::not_divisible, formatted("a divisor of the {} heads", shape.heads.value));
    }
  }
  if (!scope.reader().failed()) read_head_dim(scope, tower, shape);
  return shape;
}

}  // namespace posenc::plan
