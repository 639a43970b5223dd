// A text stack, decoder or encoder, from one object of a config: the way into this folder. Equal layers are read once.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/formatted.h"
#include "plan/layers/layers.h"

namespace posenc::plan {
namespace {

struct KnownLayer {
  LayerTraits traits;
  LayerFacts facts;
};

// So many layers are remembered at a time, each with a text for every field: all kinds of a real model, and no more
// than 200 kB where a hostile file makes each layer another kind.
constexpr std::size_t kMaxKinds = 32;

// The block that alone has a second attention; nothing where each has one.
std::optional<std::int64_t> only_crossing(ConfigScope& scope, std::int64_t blocks) {
  const CrossAttention rule = scope.stack().cross;
  if (rule != CrossAttention::first_block && rule != CrossAttention::last_block) return {};
  if (scope.flag(keys::kCrossAll).value.value_or(false)) return {};
  return rule == CrossAttention::first_block ? 0 : blocks - 1;
}

// Equal layers are read once.
void read_layers(ConfigScope& scope, RopeDicts& dicts, const TextFacts& facts, StackLayers& layers) {
  std::vector<KnownLayer> kinds;
  const Sourced<std::int64_t> crosses = read_cross_interval(scope);
  const std::int64_t rest = scope.stack().cross == CrossAttention::aligned ? crosses.value - 1 : 0;
  const auto only = crosses.value > 0 ? only_crossing(scope, std::ssize(facts.pattern.layers)) : std::nullopt;
  layers.reserve(std::ssize(facts.pattern.layers) * (crosses.value > 0 ? 2 : 1));
  std::int64_t block = 0;
  for (const LayerTraits& traits : facts.pattern.layers) {
    auto kind = std::ranges::find(kinds, traits, &KnownLayer::traits);
    if (kind == kinds.end()) {
      if (kinds.size() == kMaxKinds) kinds.clear();
      kind = kinds.insert(kinds.end(), {traits, read_text_layer(scope, dicts, facts, traits)});
    }
    if (scope.reader().failed()) return;
    layers.add(kind->facts, block);
    if (crosses.value > 0 && block % crosses.value == rest && only.value_or(block) == block) {
      LayerFacts cross = cross_attention_beside(scope, kind->facts, crosses.from);
      if (const std::string_view detail = scope.stack().cross_detail; !detail.empty()) {
        cross.set(Mask{.kind = MaskKind::sparse, .window = {}, .chunk = {}, .detail = std::string(detail)}, {});
      }
      layers.add(cross, block);
    }
    ++block;
  }
}

// ---- keys that look as if they meant something ----

// Says nothing, or is a count of none: 0, -1.
bool is_off(const Place& place) {
  if (place.value.kind() == io::JsonKind::number && place.value.as_double().ok() && *place.value.as_double() <= 0) {
    return true;
  }
  const bool is_width = keys::kWindow.names.contains(place.value.key()) && !place.value.is_null();
  return !is_width && says_nothing(place.value);  // a window of 1 is one
}

void pass_over_misleading(ConfigScope& scope) {
  for (std::string_view name : scope.family().misleading_keys) {
    const auto place = scope.reader().look(scope.object(), name);
    if (place) scope.reader().pass_over(*place, formatted("a {} model", scope.family().name));
  }
}

// The sources disagree about ChatGLM's other layout: ChatGLM2's own code knows only one, vLLM pairs halves.
void warn_of_layout(ConfigScope& scope, AttentionShape& shape) {
  if (scope.family().base != BaseRule::ratio) return;
  const Setting<bool> original = scope.flag(keys::kOriginalRope);
  if (!original.value) return;
  shape.pairing.from = original.from;
  if (*original.value) return;
  scope.reader().undecided(formatted("{} is false: which channels then rotate together is not known.", original.from),
                           {original.from});
}

// What a class without windows does with a window: its masks have none, and the cache that transformers makes of the
// configuration drops what is farther away, whether the class has such a key or not.
void warn_of_cache_alone(ConfigScope& scope, const StackFacts& stack) {
  const bool has_cache = std::ranges::any_of(stack.layers.layers(), [](const LayerPlan& layer) {
    return layer.kind == LayerKind::attention && layer.mask.kind == MaskKind::causal;
  });
  // Looked at, and not asked for: nothing is used where they are absent.
  const auto standing = [&](const Key& key) {
    const auto found = scope.object().find(key.name());
    return found.ok() ? *found : std::nullopt;
  };
  const auto use = standing(keys::kUseWindow);
  const bool is_off_by_flag = use && says_nothing(*use);
  const bool is_bounded = std::ranges::any_of(stack.layers.layers(), [](const LayerPlan& layer) {
    return layer.mask.window.has_value() || layer.mask.chunk.has_value();
  });
  if (!has_cache || !scope.has_class() || is_bounded || is_off_by_flag) return;
  for (const Key* key : {&keys::kWindow, &keys::kChunk}) {
    if (key == &keys::kWindow && scope.windows() != Windows::none) continue;
    const auto value = standing(*key);
    if (!value || value->kind() != io::JsonKind::number || is_off(Place{*value, value->pointer()})) continue;
    scope.reader().undecided(formatted("{} is given: the masks of the class do not know it, but a cache that is made "
                                       "of the configuration does.",
                                       value->pointer()),
                             {value->pointer()});
  }
}

double number_of(ConfigScope& scope, const Key& key) {
  const auto place = scope.peek(key);
  return place && place->value.kind() == io::JsonKind::number ? place->value.finite().value_or(0) : 0;
}

// What other keys say in any case: ModernBERT's sliding_window is half of its local_attention, and a width of heads the
// hidden size over them.
bool says_again(ConfigScope& scope, const Place& place) {
  if (place.value.kind() != io::JsonKind::number) return false;
  const double value = place.value.finite().value_or(0);
  if (place.value.key() == keys::kWindow.name()) return value == std::floor(number_of(scope, keys::kWindow) / 2);
  if (place.value.key() != keys::kHeadDim.name()) return false;
  return value * number_of(scope, keys::kHeads) == number_of(scope, keys::kHidden);
}

void warn_undecided(ConfigScope& scope) {
  for (std::string_view name : scope.family().undecided_keys) {
    const auto place = scope.look(name);
    if (!place || is_off(*place) || says_again(scope, *place)) continue;
    scope.reader().undecided(formatted("{} is given: what it does to positions is not read.", place->from),
                             {place->from});
  }
  for (std::string_view what : {scope.family().undecided, scope.stack().undecided}) {
    if (what.empty()) continue;
    scope.reader().undecided(formatted("No source says of {} models: {}.", scope.family().name, what), {});
  }
}

Sourced<std::int64_t> read_trained_length(ConfigScope& scope) {
  constexpr Bounds kLengths{1, kMaxPosition};
  if (scope.family().needs_length) return scope.required_integer(keys::kLength, kLengths);
  return given_or(scope.integer(keys::kLength, kLengths), {0, "default: not given"});
}

// The softmax scale of layer i falls with i (GPT-2).
void divide_scales(ConfigScope& scope, LayerPattern& pattern) {
  if (!read_division_by_layer(scope).value) return;
  std::int64_t count = 0;
  for (LayerTraits& layer : pattern.layers) layer.scale_divisor = ++count;
}

void add_input(const SchemeChoice& scheme, InputStage input, StackFacts& stack) {
  stack.input = std::move(input.schemes);
  stack.input_sources = std::move(input.sources);
  if (!scheme.table) return;
  stack.input.push_back(*scheme.table);
  stack.input_sources.push_back({"input/0", scheme.from});
}

// Decoders and a model's own text are given tokens. An encoder may be given patches or frames, behind convolutions.
FedBy fed_by(const ConfigScope& scope, std::string_view name) {
  const Family& family = scope.family();
  // A file that names its class alone may be of any of the row's types.
  const bool is_listed = family.mixed_input.contains(scope.model_type()) ||
                         (!family.mixed_input.empty() && !family.model_types.contains(scope.model_type()));
  if (is_listed) return FedBy::mixed_tokens;
  return name == "decoder" || name == "text" ? FedBy::tokens : FedBy::not_said;
}

StackFacts read_stack(ConfigScope& scope) {
  StackFacts result;
  const Sourced<std::int64_t> layers = read_layer_count(scope);
  TextFacts facts;
  facts.pattern = read_layer_pattern(scope, layers.value);
  read_block_sparse(scope, facts.pattern);
  facts.shapes = read_layer_sizes(scope, facts.pattern);
  facts.indexer = read_indexer(scope, facts.pattern);
  facts.selection = read_selection(scope);
  const Sourced<std::int64_t>& heads = facts.shapes.front().heads;
  const Sourced<std::int64_t> length = read_trained_length(scope);
  facts.scheme = read_scheme(scope, heads.value, length.value);
  if (!facts.scheme.rotates) let_rest(facts.pattern, facts.scheme.from);
  divide_scales(scope, facts.pattern);
  InputStage input{{}, {}, length};
  if (facts.scheme.input) input = read_input_stage(scope, length);
  facts.trained_length = input.length;  // less the rows of a table that no token finds
  std::string blocks_from = read_block_lists(scope, facts.pattern);
  facts.masks = read_layer_masks(scope, facts.pattern, facts.trained_length);
  facts.masks.blocks_from = std::move(blocks_from);
  if (facts.scheme.score) {
    const ScoreKind kind = facts.scheme.relative.value_or(scope.stack().score.kind);
    facts.terms = read_score_terms(scope, kind, heads, facts.trained_length);
  }
  facts.scores = read_layer_scores(scope, facts.shapes, facts.terms.parts);
  warn_of_layout(scope, facts.shapes.front());
  warn_undecided(scope);
  facts.regions = read_regions(scope);
  RopeDicts dicts(scope);
  facts.query_scale = read_query_scale(dicts, facts.trained_length);
  if (scope.reader().failed()) return result;

  result.name = facts.masks.rotated_causal ? "decoder" : scope.stack().name;
  result.fed_by = fed_by(scope, result.name);
  add_input(facts.scheme, std::move(input), result);
  result.count_from = layers.from;
  read_layers(scope, dicts, facts, result.layers);
  warn_of_scaled_chunks(scope, facts.regions, result.layers.layers());
  dicts.warn_unknown();
  if (dicts.has_unknown_axes()) scope.reader().leave_open("which coordinate rotates which pairs (mrope_section)");
  pass_over_misleading(scope);
  warn_of_cache_alone(scope, result);
  result.trained_length = facts.trained_length;
  return result;
}

}  // namespace

StackFacts read_text_stack(ConfigScope& scope) {
  StackFacts stack = read_stack(scope);
  settle_stack(scope.reader(), scope.stack().name, stack);
  return stack;
}

}  // namespace posenc::plan
