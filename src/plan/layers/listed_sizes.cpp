#include "plan/layers/listed_sizes.h"

#include <algorithm>
#include <optional>

#include "base/formatted.h"
#include "plan/layers/attention_shape.h"
#include "plan/scope/layer_lists.h"

namespace posenc::plan {
namespace {

constexpr Bounds kListedHeads{1, kMaxHeads};
constexpr Bounds kListedHeadDims{1, kMaxHeadDim};

Sourced<std::int64_t> entry_of(ConfigReader& reader, const LayerList& list, std::size_t layer) {
  const io::JsonValue& entry = list.entries[layer];
  return {reader.integer(Place{entry, entry.pointer()}, kListedHeads).value_or(1), list.place.from};
}

bool is_list(ConfigScope& scope, const Key& key) {
  const auto place = scope.peek(key);
  return place && place->value.kind() == io::JsonKind::array;
}

// What the layers have in common.
AttentionShape common_shape(ConfigScope& scope) {
  AttentionShape shape;
  shape.head_dim = scope.required_integer(keys::kHeadDim, kListedHeadDims);
  shape.value_dim = shape.turning_width = shape.head_dim;
  shape.width_place = scope.peek(keys::kHeadDim);
  shape.pairing = {scope.family().pairing, family_default(scope.family())};
  shape.first_channel = {0, family_default(scope.family())};
  return shape;
}

}  // namespace

std::vector<AttentionShape> read_listed_sizes(ConfigScope& scope, LayerPattern& pattern) {
  if (!is_list(scope, keys::kHeads)) return {read_attention_shape(scope)};
  ConfigReader& reader = scope.reader();
  const auto layers = static_cast<std::int64_t>(pattern.layers.size());
  const auto heads = read_layer_list(scope, keys::kHeads, layers);
  const auto kv_heads = is_list(scope, keys::kKvHeads) ? read_layer_list(scope, keys::kKvHeads, layers) : std::nullopt;
  AttentionShape shape = common_shape(scope);
  if (!heads || reader.failed()) return {shape};
  std::vector<AttentionShape> shapes;
  for (std::size_t i = 0; i < pattern.layers.size() && !reader.failed(); ++i) {
    shape.heads = entry_of(reader, *heads, i);
    shape.kv_heads = kv_heads ? entry_of(reader, *kv_heads, i) : shape.heads;
    if (shape.heads.value % shape.kv_heads.value != 0) {
      const io::JsonValue& entry = kv_heads->entries[i];
      reader.fail(Place{entry, entry.pointer()}, ErrorKind::not_divisible,
                  formatted("a divisor of the {} heads of this layer", shape.heads.value));
    }
    const auto same = std::ranges::find_if(shapes, [&](const AttentionShape& known) {
      return known.heads.value == shape.heads.value && known.kv_heads.value == shape.kv_heads.value;
    });
    pattern.layers[i].shape = same - shapes.begin();
    if (same == shapes.end()) shapes.push_back(shape);
  }
  return shapes;
}

}  // namespace posenc::plan
