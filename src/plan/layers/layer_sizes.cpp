// Heads and channels where layers differ: lists (OpenELM), block_configs (DeciLM), full or sliding ones' own (Gemma 4).
#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "plan/layers/layers.h"

namespace posenc::plan {
namespace {

constexpr Bounds kLayerHeads{1, kMaxHeads};
constexpr Bounds kLayerHeadDims{1, kMaxHeadDim};

Sourced<std::int64_t> entry_of(ConfigReader& reader, const LayerList& list, std::size_t layer) {
  const io::JsonValue& entry = list.entries[layer];
  return {reader.integer(Place{entry, entry.pointer()}, kLayerHeads).value_or(1), list.place.from};
}

bool is_list(ConfigScope& scope, const Key& key) {
  const auto place = scope.peek(key);
  return place && place->value.kind() == io::JsonKind::array;
}

// What the layers have in common.
AttentionShape common_shape(ConfigScope& scope) {
  AttentionShape shape;
  shape.head_dim = scope.required_integer(keys::kHeadDim, kLayerHeadDims);
  shape.value_dim = shape.rotary_width = shape.head_dim;
  shape.width_place = scope.peek(keys::kHeadDim);
  shape.pairing = {scope.family().pairing, family_default(scope.family())};
  shape.first_channel = {0, family_default(scope.family())};
  return shape;
}

// num_query_heads and num_kv_heads as lists (OpenELM): the different shapes, each once.
std::vector<AttentionShape> read_listed_sizes(ConfigScope& scope, LayerPattern& pattern) {
  if (!is_list(scope, keys::kHeads)) return {read_attention_shape(scope)};
  ConfigReader& reader = scope.reader();
  const auto layers = static_cast<std::int64_t>(pattern.layers.size());
  const auto heads = read_layer_list(scope, keys::kHeads, layers);
  const auto kv_heads = is_list(scope, keys::kKvHeads) ? read_layer_list(scope, keys::kKvHeads, layers) : std::nullopt;
  AttentionShape shape = common_shape(scope);
  const Setting<std::int64_t> all_kv_heads =
      kv_heads ? Setting<std::int64_t>{} : scope.integer(keys::kKvHeads, kLayerHeads);
  if (!heads || reader.failed()) return {shape};
  std::vector<AttentionShape> shapes;
  for (std::size_t i = 0; i < pattern.layers.size() && !reader.failed(); ++i) {
    shape.heads = entry_of(reader, *heads, i);
    shape.kv_heads = shape.heads;
    if (kv_heads) shape.kv_heads = entry_of(reader, *kv_heads, i);
    if (all_kv_heads.value) shape.kv_heads = {*all_kv_heads.value, all_kv_heads.from};
    if (shape.heads.value % shape.kv_heads.value != 0) {
      const io::JsonValue& entry = (kv_heads ? *kv_heads : *heads).entries[i];
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

void set_head_dim(AttentionShape& shape, Sourced<std::int64_t> head_dim, std::optional<Place> place) {
  shape.head_dim = shape.value_dim = shape.rotary_width = std::move(head_dim);
  shape.width_place = std::move(place);
}

bool is_grouping(ConfigReader& reader, const AttentionShape& shape, const Place& blame) {
  if (reader.failed() || shape.heads.value % shape.kv_heads.value == 0) return !reader.failed();
  reader.fail(blame, ErrorKind::not_divisible, formatted("{} heads in whole groups", shape.heads.value),
              formatted("{} / {} leaves {}", shape.heads.value, shape.kv_heads.value,
                        shape.heads.value % shape.kv_heads.value));
  return false;
}

// Whether the sizes of one type's layers stand in per_layer_config alone: a class that fills it in from keys of that
// type (Gemma 4, Step 3.7) leaves those out when it saves, and does not read them where a file has it, empty or null.
bool are_in_entries(ConfigScope& scope, std::initializer_list<const Key*> of_type) {
  if (!scope.family().fills_layer_config || !scope.has_class() || !scope.look(keys::kLayerConfig.name())) return false;
  for (const Key* key : of_type) {
    const auto place = scope.peek(*key);
    if (place && place->in_file) scope.pass_over(*place);
  }
  return true;
}

// Full layers: global_head_dim, and where keys serve as values (attention_k_eq_v) num_global_key_value_heads.
AttentionShape full_shape(ConfigScope& scope, AttentionShape shape) {
  if (are_in_entries(scope, {&keys::kGlobalHeadDim, &keys::kGlobalKvHeads})) return shape;
  set_head_dim(shape, scope.required_integer(keys::kGlobalHeadDim, kLayerHeadDims), scope.peek(keys::kGlobalHeadDim));
  // A class without the key takes keys as values in any case, or has heads of its own (DiffusionGemma, EmbeddingGemma).
  const Setting<bool> shares = scope.flag(keys::kKeysAreValues);
  if (!shares.value.value_or(true)) return shape;
  const Setting<std::int64_t> kv_heads = scope.integer(keys::kGlobalKvHeads, kLayerHeads);
  if (!kv_heads.value) return shape;
  shape.kv_heads = {*kv_heads.value, kv_heads.from};
  if (const auto place = scope.peek(keys::kGlobalKvHeads)) is_grouping(scope.reader(), shape, *place);
  return shape;
}

// Heads of their own share the same width.
AttentionShape whole_sliding_shape(ConfigScope& scope, AttentionShape shape) {
  const Setting<std::int64_t> heads = scope.integer(keys::kWholeSlidingHeads, kLayerHeads);
  const Setting<std::int64_t> kv_heads = scope.integer(keys::kSlidingKvHeads, kLayerHeads);
  if (kv_heads.value) shape.kv_heads = {*kv_heads.value, kv_heads.from};
  if (heads.value && !scope.reader().failed()) {
    const std::int64_t width = shape.heads.value * shape.head_dim.value;
    shape.heads = {*heads.value, heads.from};
    if (width % *heads.value != 0) {
      scope.fail(keys::kWholeSlidingHeads, ErrorKind::not_divisible, formatted("a divisor of the {} channels", width));
      return shape;
    }
    set_head_dim(shape, {width / *heads.value, heads.from}, scope.peek(keys::kWholeSlidingHeads));
  }
  if (const auto place = scope.peek(keys::kSlidingKvHeads)) is_grouping(scope.reader(), shape, *place);
  return shape;
}

// Sliding layers: num_sliding_attention_heads, and with it KV heads and channels if they have keys of their own, or
// attention_other_setting with heads, groups and width of their own.
AttentionShape sliding_shape(ConfigScope& scope, AttentionShape shape) {
  if (are_in_entries(scope, {&keys::kSlidingHeads, &keys::kOtherAttention})) return shape;
  ConfigReader& reader = scope.reader();
  if (const Setting<std::int64_t> heads = scope.integer(keys::kSlidingHeads, kLayerHeads); heads.value) {
    shape.heads = {*heads.value, heads.from};
    const Setting<std::int64_t> kv_heads = scope.integer(keys::kSlidingKvHeads, kLayerHeads);
    if (kv_heads.value) shape.kv_heads = {*kv_heads.value, kv_heads.from};
    const Setting<std::int64_t> head_dim = scope.integer(keys::kSlidingHeadDim, kLayerHeadDims);
    if (head_dim.value) set_head_dim(shape, {*head_dim.value, head_dim.from}, scope.peek(keys::kSlidingHeadDim));
    if (const auto place = scope.peek(keys::kSlidingHeads)) is_grouping(reader, shape, *place);
    return shape;
  }
  const auto other = scope.peek(keys::kOtherAttention);
  if (!other || other->value.kind() != io::JsonKind::object) return shape;
  reader.enter(other->value);
  const auto size = [&](std::string_view name, Bounds bounds) -> std::optional<Sourced<std::int64_t>> {
    const auto place = reader.look(other->value, name);
    if (!place || place->value.is_null()) return {};
    reader.mark_read(*place);
    const auto value = reader.integer(*place, bounds);
    if (!value) return {};
    return Sourced<std::int64_t>{*value, place->from};
  };
  if (auto heads = size("num_attention_heads", kLayerHeads)) shape.heads = std::move(*heads);
  if (auto groups = size("num_attention_groups", kLayerHeads)) shape.kv_heads = std::move(*groups);
  if (auto head_dim = size("head_dim", kLayerHeadDims)) {
    set_head_dim(shape, std::move(*head_dim), reader.look(other->value, "head_dim"));
  }
  is_grouping(reader, shape, *other);
  return shape;
}

// block_configs[i].attention.n_heads_in_group: as many queries share a key.
std::optional<AttentionShape> block_shape(ConfigScope& scope, const io::JsonValue& block, AttentionShape shape,
                                          const std::string& from) {
  ConfigReader& reader = scope.reader();
  const auto attention = reader.look(block, "attention");
  if (!attention || attention->value.kind() != io::JsonKind::object) return {};
  const auto group = reader.look(attention->value, keys::kGroupSize.name());
  if (!group || group->value.is_null()) return {};
  const auto heads = reader.integer(*group, kLayerHeads);
  if (!heads) return {};
  if (shape.heads.value % *heads != 0) {
    reader.fail(*group, ErrorKind::not_divisible, formatted("a divisor of the {} heads", shape.heads.value));
    return {};
  }
  shape.kv_heads = {shape.heads.value / *heads, from};
  return shape;
}

void add_block_shapes(ConfigScope& scope, LayerPattern& pattern, std::vector<AttentionShape>& shapes) {
  const auto list = read_layer_list(scope, keys::kBlocks, static_cast<std::int64_t>(pattern.layers.size()));
  if (!list) return;
  for (std::size_t i = 0; i < pattern.layers.size() && !scope.reader().failed(); ++i) {
    const auto shape = block_shape(scope, list->entries[i], shapes.front(), list->place.from);
    if (!shape || pattern.layers[i].kind != LayerKind::attention) continue;
    const auto same = std::ranges::find_if(shapes, [&](const AttentionShape& known) {
      return known.kv_heads.value == shape->kv_heads.value && known.kv_heads.from == shape->kv_heads.from;
    });
    pattern.layers[i].shape = same - shapes.begin();
    if (same == shapes.end()) shapes.push_back(*shape);
  }
}

// ---- per_layer_config ----

// What the entry says of a layer's heads and channels.
AttentionShape own_shape(ConfigScope& scope, const io::JsonValue& entry, AttentionShape shape) {
  ConfigReader& reader = scope.reader();
  const auto read = [&](const Key& key, Bounds bounds, Sourced<std::int64_t>& size) {
    const auto place = reader.look(entry, key.name());
    if (!place || place->value.is_null()) return false;
    reader.mark_read(*place);
    size = {reader.integer(*place, bounds).value_or(size.value), place->from};
    return true;
  };
  read(keys::kHeads, kLayerHeads, shape.heads);
  read(keys::kKvHeads, kLayerHeads, shape.kv_heads);
  if (shape.latent) {
    shape.kv_heads = shape.heads;
    read(keys::kNopeDim, {0, kMaxHeadDim}, shape.first_channel);
    if (read(keys::kRopeDim, kLayerHeadDims, shape.rotary_width))
      shape.width_place = reader.look(entry, keys::kRopeDim.name());
    shape.head_dim.value = shape.first_channel.value + shape.rotary_width.value;
  } else if (Sourced<std::int64_t> width; read(keys::kHeadDim, kLayerHeadDims, width)) {
    set_head_dim(shape, std::move(width), reader.look(entry, keys::kHeadDim.name()));
  }
  read(keys::kValueDim, kLayerHeadDims, shape.value_dim);
  is_grouping(reader, shape, Place{entry, entry.pointer()});
  return shape;
}

bool is_same_size(const AttentionShape& a, const AttentionShape& b) {
  return a.heads.value == b.heads.value && a.kv_heads.value == b.kv_heads.value &&
         a.head_dim.value == b.head_dim.value && a.value_dim.value == b.value_dim.value &&
         a.first_channel.value == b.first_channel.value && a.rotary_width.value == b.rotary_width.value;
}

void add_own_shapes(ConfigScope& scope, LayerPattern& pattern, std::vector<AttentionShape>& shapes) {
  for (const LayerEntry& entry : read_layer_entries(scope, static_cast<std::int64_t>(pattern.layers.size()))) {
    LayerTraits& layer = pattern.layers[entry.layer];
    if (!attends(layer.kind)) continue;
    AttentionShape shape = own_shape(scope, entry.object, shapes[static_cast<std::size_t>(layer.shape)]);
    if (scope.reader().failed()) return;
    const auto same =
        std::ranges::find_if(shapes, [&](const AttentionShape& known) { return is_same_size(known, shape); });
    layer.shape = same - shapes.begin();
    if (same == shapes.end()) shapes.push_back(std::move(shape));
  }
}

std::vector<AttentionShape> read_family_sizes(ConfigScope& scope, LayerPattern& pattern) {
  if (scope.family().sizes == Sizes::listed) return read_listed_sizes(scope, pattern);
  std::vector<AttentionShape> shapes{read_attention_shape(scope)};
  if (scope.reader().failed()) return shapes;
  const auto give_second = [&](LayerType type) {
    for (LayerTraits& layer : pattern.layers) layer.shape = layer.type == type ? 1 : 0;
  };
  switch (scope.family().sizes) {
    case Sizes::uniform:
    case Sizes::listed: break;
    case Sizes::sliding_double_kv: {
      AttentionShape sliding = shapes.front();
      sliding.kv_heads.value *= 2;
      is_grouping(scope.reader(), sliding, Place{scope.object(), sliding.kv_heads.from});
      shapes.push_back(std::move(sliding));
      give_second(LayerType::sliding);
      break;
    }
    case Sizes::full_own:
      shapes.push_back(full_shape(scope, shapes.front()));
      give_second(LayerType::full);
      break;
    case Sizes::sliding_own:
      shapes.push_back(sliding_shape(scope, shapes.front()));
      give_second(LayerType::sliding);
      break;
    case Sizes::sliding_whole:
      shapes.push_back(whole_sliding_shape(scope, shapes.front()));
      give_second(LayerType::sliding);
      break;
    case Sizes::blocks: add_block_shapes(scope, pattern, shapes); break;
  }
  return shapes;
}

}  // namespace

std::vector<AttentionShape> read_layer_sizes(ConfigScope& scope, LayerPattern& pattern) {
  std::vector<AttentionShape> shapes = read_family_sizes(scope, pattern);
  if (!scope.reader().failed()) add_own_shapes(scope, pattern, shapes);
  return shapes;
}

}  // namespace posenc::plan
