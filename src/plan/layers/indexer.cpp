// Layers that see only keys which an indexer picks (DeepSeek V3.2, GLM 5, MiniMax M3), whose indexer, and its rotation.
#include <algorithm>
#include <utility>

#include "base/formatted.h"
#include "plan/layers/layers.h"

namespace posenc::plan {
namespace {

using io::JsonKind;
using io::JsonValue;

// ---- which layers choose ----

struct Choices {
  std::vector<bool> own;  // [layers]; false: the choice of the last layer before that has one
  std::string from;
};

// indexer_types: "full" or "shared" for each layer; index_topk_pattern: F or S.
std::optional<bool> owns(ConfigReader& reader, const Place& place, std::string_view word) {
  if (word == "full" || word == "F") return true;
  if (word == "shared" || word == "S") return false;
  reader.fail(place, ErrorKind::out_of_range, "full (F) or shared (S)");
  return {};
}

std::optional<Choices> listed_choices(ConfigScope& scope, const Key& key, std::int64_t layers) {
  const auto list = read_layer_list(scope, key, layers);
  if (!list) return {};
  Choices choices{{}, list->place.from};
  for (const JsonValue& entry : list->entries) {
    const Place at{entry, entry.pointer()};
    const auto word = scope.reader().string(at);
    choices.own.push_back(word && owns(scope.reader(), at, *word).value_or(false));
  }
  return choices;
}

std::optional<Choices> lettered_choices(ConfigScope& scope, std::int64_t layers) {
  const auto place = scope.peek(keys::kIndexPattern);
  if (!place) return {};
  if (place->value.kind() == JsonKind::array) return listed_choices(scope, keys::kIndexPattern, layers);
  const auto letters = scope.reader().string(*place);
  if (!letters) return {};
  if (static_cast<std::int64_t>(letters->size()) < layers) {
    scope.reader().fail(*place, ErrorKind::length_mismatch, formatted("{} letters, one for each layer", layers));
    return {};
  }
  scope.reader().mark_read(*place);
  Choices choices{{}, place->from};
  for (std::int64_t i = 0; i < layers; ++i) {
    const auto own = owns(scope.reader(), *place, letters->substr(static_cast<std::size_t>(i), 1));
    if (!own) return {};
    choices.own.push_back(*own);
  }
  return choices;
}

// Each index_topk_freq-th layer chooses, counted from index_skip_topk_offset - 1, and all before that.
Choices frequent_choices(ConfigScope& scope, std::int64_t layers) {
  const Sourced<std::int64_t> every = scope.required_integer(keys::kIndexFrequency, {0, kMaxLayers});
  const Sourced<std::int64_t> offset = scope.required_integer(keys::kIndexOffset, {0, kMaxLayers});
  Choices choices{{}, every.from};
  for (std::int64_t i = 0; i < layers; ++i) {
    choices.own.push_back(std::max<std::int64_t>(i - offset.value + 1, 0) % std::max<std::int64_t>(every.value, 1) ==
                          0);
  }
  return choices;
}

Choices shared_choices(ConfigScope& scope, std::int64_t layers) {
  if (auto choices = listed_choices(scope, keys::kIndexerTypes, layers)) return *choices;
  if (auto choices = lettered_choices(scope, layers)) return *choices;
  return frequent_choices(scope, layers);
}

void mark_shared(ConfigScope& scope, LayerPattern& pattern) {
  const Choices choices = shared_choices(scope, static_cast<std::int64_t>(pattern.layers.size()));
  if (scope.reader().failed()) return;
  pattern.choice_from = choices.from;
  std::int64_t last = -1;
  for (std::size_t i = 0; i < pattern.layers.size(); ++i) {
    LayerTraits& layer = pattern.layers[i];
    if (choices.own[i]) {
      layer.choice = Choice::own;
      last = static_cast<std::int64_t>(i);
    } else if (last >= 0) {
      layer.choice = Choice::earlier;
      layer.chosen_by = last;
    } else {
      FileError error = scope.object().error(ErrorKind::out_of_range, "an indexer in the first layer");
      error.got = formatted("a layer 0 that reuses an earlier choice ({})", choices.from);
      return scope.reader().fail(std::move(error));
    }
  }
}

// Where the file has no layer_types, every layer has an indexer.
void mark_typed(ConfigScope& scope, LayerPattern& pattern) {
  const auto types = read_layer_list(scope, keys::kLayerTypes, static_cast<std::int64_t>(pattern.layers.size()));
  pattern.choice_from = types ? types->place.from : family_default(scope.family());
  for (std::size_t i = 0; i < pattern.layers.size(); ++i) {
    const bool chooses = !types || types->entries[i].text() == "indexed_attention";
    if (chooses && pattern.layers[i].kind == LayerKind::attention) pattern.layers[i].choice = Choice::own;
  }
}

// sparse_attention_freq, or "minimax_m3_sparse" in layer_types.
void mark_listed(ConfigScope& scope, LayerPattern& pattern) {
  const auto layers = static_cast<std::int64_t>(pattern.layers.size());
  pattern.choice_from = family_default(scope.family());
  if (const auto on = find_sparse(scope, keys::kUseSparse)) {
    pattern.choice_from = on->from;
    if (!scope.reader().boolean(*on).value_or(true)) return;
  }
  const auto types = read_layer_list(scope, keys::kLayerTypes, layers);
  const auto marks_place = types ? std::nullopt : find_sparse(scope, keys::kSparseLayers);
  const auto marks = marks_place ? read_layer_list(scope, *marks_place, layers) : std::nullopt;
  if (!types && !marks) return;
  pattern.choice_from = types ? types->place.from : marks->place.from;
  for (std::size_t i = 0; i < pattern.layers.size(); ++i) {
    const bool sparse =
        types ? types->entries[i].text() == "minimax_m3_sparse" : is_marked(scope.reader(), marks->entries[i]);
    if (sparse) pattern.layers[i].choice = Choice::own;
  }
}

}  // namespace

std::optional<Indexer> read_indexer(ConfigScope& scope, LayerPattern& pattern) {
  const auto& rule = scope.family().indexer;
  if (!rule) return {};
  switch (rule->layers) {
    case IndexedLayers::every:
      pattern.choice_from = family_default(scope.family());
      for (LayerTraits& layer : pattern.layers) layer.choice = Choice::own;
      break;
    case IndexedLayers::shared: mark_shared(scope, pattern); break;
    case IndexedLayers::typed: mark_typed(scope, pattern); break;
    case IndexedLayers::marked: mark_listed(scope, pattern); break;
    case IndexedLayers::compressed: pattern.choice_from = pattern.compression_from; break;  // compression.cpp marks
  }
  Indexer indexer;
  indexer.heads = required_sparse(scope, keys::kIndexHeads, {1, kMaxHeads});
  indexer.head_dim = required_sparse(scope, keys::kIndexHeadDim, {1, kMaxHeadDim});
  indexer.head_dim_place = find_sparse(scope, keys::kIndexHeadDim);
  indexer.pairing = {rule->pairing, family_default(scope.family())};
  if (const Setting<bool> interleave = scope.flag(keys::kIndexInterleave); interleave.value) {
    indexer.pairing = {*interleave.value ? Pairing::interleaved : Pairing::half, interleave.from};
  }
  return indexer;
}

IndexerRotation indexer_rotation(ConfigScope& scope, const Indexer& indexer, const Rope& main,
                                 const std::vector<FieldSource>& sources) {
  if (main.dim > indexer.head_dim.value && indexer.head_dim_place) {
    scope.reader().fail(*indexer.head_dim_place, ErrorKind::out_of_range,
                        formatted("at least the {} channels that rotate", main.dim));
    return {};
  }
  Rope rope = main;
  rope.pairing = indexer.pairing.value;
  rope.head_dim = indexer.head_dim.value;
  rope.first_channel = scope.family().indexer->last_channels ? rope.head_dim - rope.dim : 0;
  IndexerRotation result{
      .rotate = Rotate{.role = RotateRole::indexer, .heads = indexer.heads.value, .scheme = std::move(rope)},
      .sources = {{"heads", indexer.heads.from},
                  {"head_dim", indexer.head_dim.from},
                  {"pairing", indexer.pairing.from},
                  {"first_channel", family_default(scope.family())}}};
  for (const FieldSource& source : sources) {
    if (source.field != "pairing" && source.field != "first_channel") result.sources.push_back(source);
  }
  return result;
}

}  // namespace posenc::plan
