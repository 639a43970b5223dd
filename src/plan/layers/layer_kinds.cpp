// How many layers there are, and the kind of each (LayerKind): from lists, letters, periods, objects, the family's row.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/formatted.h"
#include "plan/layers/layers.h"

namespace posenc::plan {
namespace {

using io::JsonValue;
constexpr std::int64_t kMaxLoops = 64;

using KindList = Sourced<std::vector<LayerKind>>;

struct KindName {
  std::string_view name;
  LayerKind kind;
};
// As in layer_types, layers_block_type and block_types. "linear_attention" and "recurrent" are what the family says
// (Family::recurrent); Zamba's "hybrid" has attention before a state space.
constexpr KindName kWordsOfKinds[] = {
    {"full_attention", LayerKind::attention},
    {"sliding_attention", LayerKind::attention},
    {"chunked_attention", LayerKind::attention},
    {"indexed_attention", LayerKind::attention},
    {"attention", LayerKind::attention},
    {"attn", LayerKind::attention},
    {"swa", LayerKind::attention},
    {"jet", LayerKind::linear_attention},
    {"hybrid", LayerKind::attention},
    {"mamba", LayerKind::state_space},
    {"mamba2", LayerKind::state_space},
    {"conv", LayerKind::convolution},
    {"moe", LayerKind::none},
    {"mlp", LayerKind::none},
};
// Of hybrid_override_pattern (Nemotron-H): M Mamba-2, * attention, E experts, - a dense MLP.
constexpr KindName kKindLetters[] = {
    {"*", LayerKind::attention},
    {"M", LayerKind::state_space},
    {"E", LayerKind::none},
    {"-", LayerKind::none},
};

std::vector<LayerKind> all(std::int64_t layers, LayerKind kind) {
  return std::vector<LayerKind>(static_cast<std::size_t>(layers), kind);
}

// ---- names, letters, an interval ----

LayerKind named_kind(ConfigScope& scope, const JsonValue& entry) {
  const Place place{entry, entry.pointer()};
  const auto name = scope.reader().string(place);
  if (!name) return LayerKind::attention;
  if (*name == "linear_attention" || *name == "recurrent") return scope.family().recurrent;
  const auto row = std::ranges::find(kWordsOfKinds, *name, &KindName::name);
  if (row != std::ranges::end(kWordsOfKinds)) return row->kind;
  scope.reader().fail(place, ErrorKind::out_of_range,
                      "the kind of a layer: full_attention, sliding_attention, linear_attention, mamba or the like");
  return LayerKind::attention;
}

KindList kinds_of_letters(ConfigScope& scope, const Place& place) {
  KindList kinds{{}, place.from};
  const std::string_view letters = scope.reader().string(place).value_or(std::string_view{});
  scope.reader().mark_read(place);
  for (std::size_t i = 0; i < letters.size() && !scope.reader().failed(); ++i) {
    const auto row = std::ranges::find(kKindLetters, letters.substr(i, 1), &KindName::name);
    if (row == std::ranges::end(kKindLetters)) {
      scope.reader().fail(place, ErrorKind::out_of_range, "a text of the letters M, *, E and -");
    } else {
      kinds.value.push_back(row->kind);
    }
  }
  return kinds;
}

// Layers i with i mod n = rest attend, the others are what the family says.
struct Period {
  std::int64_t n = 1;
  std::int64_t rest = 0;
};
Period last_of(std::int64_t n) { return {n, n - 1}; }

KindList kinds_where(ConfigScope& scope, std::int64_t layers, Period period, std::string from) {
  KindList kinds{all(layers, scope.family().recurrent), std::move(from)};
  for (std::int64_t i = period.rest; i < layers; i += period.n) {
    kinds.value[static_cast<std::size_t>(i)] = LayerKind::attention;
  }
  return kinds;
}

// Letters in the file come before a class's own list.
KindList listed_kinds(ConfigScope& scope, std::int64_t layers) {
  const auto types = scope.peek(keys::kLayerTypes);
  const auto letters = scope.peek(keys::kKindLetters);
  if (letters && !(types && types->in_file)) return kinds_of_letters(scope, *letters);
  if (const auto list = types ? read_layer_list(scope, *types, layers) : std::nullopt) {
    KindList kinds{{}, list->place.from};
    for (const JsonValue& entry : list->entries) kinds.value.push_back(named_kind(scope, entry));
    return kinds;
  }
  const Family& family = scope.family();
  if (family.needs_types) scope.fail_missing(keys::kLayerTypes);
  const Setting<std::int64_t> interval = scope.integer(keys::kAttentionInterval, {1, kMaxLayers});
  if (interval.value) return kinds_where(scope, layers, last_of(*interval.value), interval.from);
  if (family.default_pattern == 0) return {all(layers, family.recurrent), family_default(family)};
  // A model of fewer layers than the pattern has still one that attends.
  const std::int64_t n = std::min<std::int64_t>(family.default_pattern, layers);
  return kinds_where(scope, layers, {n, family.first_of_pattern ? 0 : n - 1}, family_default(family));
}

// ---- layers that attend, by a period, a list of numbers from 0, or a unit that repeats ----

KindList periodic_kinds(ConfigScope& scope, std::int64_t layers) {
  if (const auto types = scope.peek(keys::kLayerTypes); types && types->in_file) return listed_kinds(scope, layers);
  const Sourced<std::int64_t> period = scope.required_integer(keys::kAttentionPeriod, {1, kMaxLayers});
  const Sourced<std::int64_t> offset = scope.required_integer(keys::kAttentionOffset, {0, kMaxLayers});
  if (offset.value >= period.value) {
    scope.fail(keys::kAttentionOffset, ErrorKind::out_of_range, formatted("less than the period of {}", period.value));
  }
  return kinds_where(scope, layers, {period.value, offset.value}, period.from);
}

KindList indexed_kinds(ConfigScope& scope, std::int64_t layers) {
  const bool every = scope.family().kinds == Kinds::indexed;
  if (scope.peek(keys::kLayerTypes)) return listed_kinds(scope, layers);
  const auto place = scope.find(keys::kAttendingLayers);
  const auto entries = place && !place->value.is_null() ? scope.reader().list(*place) : std::nullopt;
  if (!entries)
    return {all(layers, every ? LayerKind::attention : scope.family().recurrent), family_default(scope.family())};
  KindList kinds{all(layers, scope.family().recurrent), place->from};
  for (const JsonValue& entry : *entries) {
    const auto index = scope.reader().integer(Place{entry, entry.pointer()}, {0, layers - 1});
    if (!index) break;
    kinds.value[static_cast<std::size_t>(*index)] = LayerKind::attention;
  }
  return kinds;
}

KindList repeating_kinds(ConfigScope& scope, std::int64_t layers) {
  const auto place = scope.find(keys::kBlockTypes);
  const auto entries = place ? scope.reader().list(*place) : std::nullopt;
  if (!entries || entries->empty()) {
    if (place) scope.reader().fail(*place, ErrorKind::length_mismatch, "at least one entry");
    if (!place) scope.fail_missing(keys::kBlockTypes);
    return {};
  }
  KindList kinds{{}, place->from};
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers) && !scope.reader().failed(); ++i) {
    kinds.value.push_back(named_kind(scope, (*entries)[i % entries->size()]));
  }
  return kinds;
}

KindList middle_kinds(ConfigScope& scope, std::int64_t layers) {
  const Setting<bool> on = scope.flag(keys::kMambaOn);
  if (!on.value.value_or(true)) return {all(layers, LayerKind::attention), on.from};
  const Sourced<std::int64_t> step = scope.required_integer(keys::kMambaStep, {2, kMaxLayers});
  if (scope.reader().failed()) return {};
  // A model of fewer layers than that has still one that attends, its last.
  return kinds_where(scope, layers, {step.value, std::min(step.value / 2, layers - 1)}, step.from);
}

// The last half but two: gates where there were state spaces.
KindList shared_half_kinds(ConfigScope& scope, std::int64_t layers) {
  const Sourced<std::int64_t> interval = scope.required_integer(keys::kMambaInterval, {2, kMaxLayers});
  KindList kinds{all(layers, LayerKind::attention), interval.from};
  for (std::int64_t i = 0; i < layers && interval.value > 0; i += interval.value) {
    kinds.value[static_cast<std::size_t>(i)] = i < layers / 2 + 2 ? scope.family().recurrent : LayerKind::none;
  }
  if (!scope.reader().failed() && layers / 2 + 1 < layers &&
      kinds.value[static_cast<std::size_t>(layers / 2 + 1)] != LayerKind::attention) {
    scope.fail(keys::kLayers, ErrorKind::out_of_range, "a layer that attends behind the first half");
  }
  return kinds;
}

// ---- a flag a layer ----

KindList flagged_kinds(ConfigScope& scope, std::int64_t layers) {
  const auto list = read_layer_list(scope, keys::kAttentionFlags, layers);
  if (!list) {
    scope.fail_missing(keys::kAttentionFlags);
    return {};
  }
  KindList kinds{{}, list->place.from};
  for (const JsonValue& entry : list->entries) {
    kinds.value.push_back(is_marked(scope.reader(), entry) ? LayerKind::attention : scope.family().recurrent);
  }
  return kinds;
}

// ---- lists of layers, counted from 1 ----

// Marks the layers that the list names; a layer that is marked already is an error.
void mark_numbered(ConfigReader& reader, const Place& place, LayerKind kind,
                   std::vector<std::optional<LayerKind>>& kinds) {
  const auto entries = reader.list(place);
  if (!entries) return;
  reader.mark_read(place);
  for (const JsonValue& entry : *entries) {
    const Place at{entry, entry.pointer()};
    const auto number = reader.integer(at, {1, static_cast<std::int64_t>(kinds.size())});
    if (!number) return;
    std::optional<LayerKind>& slot = kinds[static_cast<std::size_t>(*number - 1)];
    if (slot) return reader.fail(at, ErrorKind::out_of_range, "a layer that no other entry names");
    slot = kind;
  }
}

KindList numbered_kinds(ConfigScope& scope, std::int64_t layers) {
  ConfigReader& reader = scope.reader();
  const auto object = scope.peek(keys::kLinearAttention);
  if (!object || object->value.kind() != io::JsonKind::object) return listed_kinds(scope, layers);
  reader.enter(object->value);
  const auto full = reader.look(object->value, keys::kFullLayers.name());
  const auto linear = reader.look(object->value, keys::kLinearLayers.name());
  if (!full || !linear) return listed_kinds(scope, layers);
  std::vector<std::optional<LayerKind>> slots(static_cast<std::size_t>(layers));
  mark_numbered(reader, *full, LayerKind::attention, slots);
  mark_numbered(reader, *linear, LayerKind::linear_attention, slots);
  if (reader.failed()) return {};
  const auto gap = std::ranges::find(slots, std::optional<LayerKind>());
  if (gap != slots.end()) {
    reader.fail(*object, ErrorKind::length_mismatch,
                formatted("{} and {} to name each layer", keys::kFullLayers.name(), keys::kLinearLayers.name()),
                formatted("neither names layer {}, counted from 1", gap - slots.begin() + 1));
    return {};
  }
  KindList kinds{{}, object->from};
  std::ranges::transform(slots, std::back_inserter(kinds.value), [](const auto& slot) { return *slot; });
  return kinds;
}

// ---- objects, one a layer ----

// block_configs[i].attention: no_op leaves the block without attention, replace_with_linear with one linear layer.
LayerKind block_kind(ConfigScope& scope, const JsonValue& block) {
  ConfigReader& reader = scope.reader();
  if (block.kind() != io::JsonKind::object) {
    reader.fail(Place{block, block.pointer()}, ErrorKind::type, "an object");
    return LayerKind::none;
  }
  const auto attention = reader.look(block, "attention");
  if (!attention || attention->value.kind() != io::JsonKind::object) return LayerKind::attention;
  for (std::string_view name : {keys::kNoOp.name(), keys::kReplacedByLinear.name()}) {
    const auto place = reader.look(attention->value, name);
    if (!place || place->value.is_null()) continue;
    reader.mark_read(*place);
    if (reader.boolean(*place).value_or(false)) return LayerKind::none;
  }
  return LayerKind::attention;
}

KindList block_kinds(ConfigScope& scope, std::int64_t layers) {
  const auto list = read_layer_list(scope, keys::kBlocks, layers);
  if (!list) return {all(layers, LayerKind::attention), family_default(scope.family())};
  KindList kinds{{}, list->place.from};
  for (const JsonValue& block : list->entries) kinds.value.push_back(block_kind(scope, block));
  return kinds;
}

KindList inner_kinds(ConfigScope& scope, std::int64_t layers) {
  const Setting<bool> mixers = scope.flag(keys::kOuterMixers);
  KindList kinds{all(layers, LayerKind::attention), mixers.from};
  if (mixers.value.value_or(false)) kinds.value.front() = kinds.value.back() = scope.family().recurrent;
  return kinds;
}

// ---- whole layers of cross attention, counted from 0 ----

KindList cross_kinds(ConfigScope& scope, std::int64_t layers) {
  KindList kinds{all(layers, LayerKind::attention), family_default(scope.family())};
  const auto place = scope.find(keys::kCrossLayers);
  const auto entries = place ? scope.reader().list(*place) : std::nullopt;
  if (!entries) return kinds;
  kinds.from = place->from;
  for (const JsonValue& entry : *entries) {
    const auto index = scope.reader().integer(Place{entry, entry.pointer()}, {0, layers - 1});
    if (!index) break;
    kinds.value[static_cast<std::size_t>(*index)] = LayerKind::cross_attention;
  }
  return kinds;
}

// How often a block of HRM runs (arXiv 2506.21734), each time with a KV cache of its own.
std::int64_t read_cycles(ConfigScope& scope) {
  if (const auto counted = scope.find(keys::kStackLayers); counted && !counted->value.is_null()) return 1;
  const std::int64_t slow = scope.required_integer(keys::kHighCycles, {1, kMaxLoops}).value;
  return slow * (scope.required_integer(keys::kLowCycles, {0, kMaxLoops}).value + 1);
}

// How many blocks a stack may have: those of all stacks of the object, and both attentions of each, share kMaxLayers.
std::int64_t most_blocks(ConfigScope& scope) {
  const bool crosses = scope.stack().cross != CrossAttention::none;
  const auto stacks = static_cast<std::int64_t>(scope.family().more_stacks.size()) + (scope.family().encoder ? 2 : 1);
  if (stacks > 1) return kMaxLayers / (2 * stacks);  // as much each, and a decoder's are double
  return crosses && read_cross_interval(scope).value > 0 ? kMaxLayers / 2 : kMaxLayers;
}

}  // namespace

Sourced<std::int64_t> read_layer_count(ConfigScope& scope) {
  if (scope.stack().fixed_layers > 0) return {scope.stack().fixed_layers, family_default(scope.family())};
  if (scope.windows() == Windows::chunk_types) return count_chunk_types(scope);
  const bool listed = scope.family().kinds == Kinds::listed;
  const auto letters = listed ? scope.peek(keys::kKindLetters) : std::nullopt;
  if (!letters && listed && !scope.peek(keys::kLayers)) {
    // NemotronHConfig: the list alone says how many layers there are.
    const auto types = scope.peek(keys::kLayerTypes);
    if (types && types->value.kind() == io::JsonKind::array && types->value.size() > 0) {
      return {std::min(static_cast<std::int64_t>(types->value.size()), kMaxLayers), types->from};
    }
  }
  if (!letters) {
    std::int64_t times = scope.family().two_attentions ? 2 : 1;
    if (scope.family().cycles) times = read_cycles(scope);
    if (scope.family().loops) times = scope.required_integer(keys::kLoops, {1, kMaxLoops}).value;
    Sourced<std::int64_t> blocks = scope.required_integer(keys::kLayers, {1, most_blocks(scope) / times});
    blocks.value *= times;
    return blocks;
  }
  const std::string_view text = scope.reader().string(*letters).value_or(std::string_view{});
  const auto count = static_cast<std::int64_t>(text.size());
  if (count < 1 || count > kMaxLayers) {
    scope.reader().fail(*letters, ErrorKind::out_of_range,
                        formatted("1 to {} letters, one for each layer", kMaxLayers));
    return {};
  }
  scope.reader().mark_read(*letters);
  const auto given = scope.peek(keys::kLayers);
  if (!given || !given->in_file) return {count, letters->from};
  scope.reader().mark_lost(*given);
  if (const auto layers = scope.reader().integer(*given, {1, kMaxLayers}); layers && *layers != count) {
    scope.reader().warn(
        "precedence",
        formatted("{} has {} letters and {} is {}; the first wins.", letters->from, count, given->from, *layers),
        {letters->from, given->from});
  }
  return {count, letters->from};
}

KindList read_layer_kinds(ConfigScope& scope, std::int64_t layers) {
  switch (scope.family().kinds) {
    case Kinds::named:
      if (!scope.peek(keys::kLayerTypes)) break;
      return listed_kinds(scope, layers);
    case Kinds::listed: return listed_kinds(scope, layers);
    case Kinds::indexed:
    case Kinds::indexed_only: return indexed_kinds(scope, layers);
    case Kinds::periodic: return periodic_kinds(scope, layers);
    case Kinds::repeating: return repeating_kinds(scope, layers);
    case Kinds::numbered: return numbered_kinds(scope, layers);
    case Kinds::blocks: return block_kinds(scope, layers);
    case Kinds::inner: return inner_kinds(scope, layers);
    case Kinds::flagged: return flagged_kinds(scope, layers);
    case Kinds::middle: return middle_kinds(scope, layers);
    case Kinds::shared_half: return shared_half_kinds(scope, layers);
    case Kinds::crossing: return cross_kinds(scope, layers);
    case Kinds::attention: break;
  }
  return {all(layers, LayerKind::attention), family_default(scope.family())};
}

Sourced<std::int64_t> read_cross_interval(ConfigScope& scope) {
  switch (scope.stack().cross) {
    case CrossAttention::none: break;
    case CrossAttention::every_block:
    case CrossAttention::first_block:
    case CrossAttention::last_block: return {1, family_default(scope.family())};
    case CrossAttention::by_flag: {
      const Setting<bool> crosses = scope.flag(keys::kAddCross);
      return {crosses.value.value_or(false) ? 1 : 0, crosses.from};
    }
    case CrossAttention::each_nth: return scope.required_integer(keys::kCrossFrequency, {1, kMaxLayers});
    case CrossAttention::aligned: {
      const Sourced<std::int64_t> layers = scope.required_integer(keys::kLayers, {1, kMaxLayers});
      const Sourced<std::int64_t> added = scope.required_integer(keys::kAlignerLayers, {1, kMaxLayers});
      return {std::max<std::int64_t>(layers.value / std::max<std::int64_t>(added.value, 1), 1), added.from};
    }
  }
  return {0, family_default(scope.family())};
}

}  // namespace posenc::plan
