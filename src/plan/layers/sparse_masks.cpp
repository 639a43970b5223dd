// Masks that no window says: blocks (Phi-3-small, ruGPT-3 XL), keys of an indexer or of several tokens, image tiles.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/formatted.h"
#include "plan/layers/layers.h"

namespace posenc::plan {
namespace {

constexpr Bounds kBlockCounts{1, kMaxPosition};

// vLLM phi3_small.py: every layer but each n-th (dense_attention_every_n_layers); absent: every layer.
void read_phi3small(ConfigScope& scope, LayerPattern& pattern) {
  const Sourced<std::int64_t> size = scope.required_integer(keys::kBlockSize, kBlockCounts);
  const Sourced<std::int64_t> local = scope.required_integer(keys::kLocalBlocks, kBlockCounts);
  const Sourced<std::int64_t> stride = scope.required_integer(keys::kBlockStride, kBlockCounts);
  const Setting<std::int64_t> dense = scope.integer(keys::kDenseInterval, kBlockCounts);
  const std::int64_t n = dense.value.value_or(0);
  for (std::size_t i = 0; i < pattern.layers.size(); ++i) {
    pattern.layers[i].block_sparse = n == 0 || (static_cast<std::int64_t>(i) + 1) % n != 0;
  }
  pattern.blocks_detail =
      formatted("causal, in blocks of {} keys: the {} nearest blocks and each {}th, shifted by head", size.value,
                local.value, stride.value);
  pattern.blocks_from = size.from;
}

// llama.cpp models/rugpt3xl.cpp: even layers; DeepSpeed's FixedSparsityConfig.
void read_alternating(ConfigScope& scope, LayerPattern& pattern) {
  const auto mode = scope.find(keys::kSparseMode);
  if (!mode) return;
  if (scope.reader().string(*mode) != "alternating") {
    scope.reader().fail(*mode, ErrorKind::out_of_range, "\"alternating\"");
    return;
  }
  const Sourced<std::int64_t> size = scope.required_integer(keys::kBlockSize, kBlockCounts);
  const Sourced<std::int64_t> local = scope.required_integer(keys::kLocalBlocks, kBlockCounts);
  const Sourced<std::int64_t> global = scope.required_integer(keys::kGlobalBlocks, kBlockCounts);
  for (std::size_t i = 0; i < pattern.layers.size(); i += 2) pattern.layers[i].block_sparse = true;
  pattern.blocks_detail =
      formatted("causal, in blocks of {} keys: the own group of {} blocks and the last {} of each group, by head",
                size.value, local.value, global.value);
  pattern.blocks_from = mode->from;
}

constexpr Bounds kKeyCounts{0, kMaxPosition};

std::string own_blocks(std::int64_t count) {
  if (count == 0) return {};
  if (count == 1) return ", the own block always";
  return formatted(", the own block and the {} before it always", count - 1);
}

std::string chosen(const Selection& selection, const LayerTraits& layer) {
  if (selection.pooled) {
    return formatted(
        "causal, the {} blocks of {} keys that the indexer{} ranks highest, and the keys behind the last "
        "whole block",
        selection.kept.value, selection.block,
        layer.choice == Choice::earlier ? formatted(" of layer {}", layer.chosen_by) : "");
  }
  if (selection.block > 1) {
    return formatted("causal, per key head the {} blocks of {} keys that the indexer ranks highest{}",
                     selection.kept.value, selection.block, own_blocks(selection.own_blocks));
  }
  if (layer.choice == Choice::earlier) {
    return formatted("causal, the {} keys that the indexer of layer {} ranks highest", selection.kept.value,
                     layer.chosen_by);
  }
  return formatted("causal, the {} keys that the indexer ranks highest", selection.kept.value);
}

std::string compressed(const Selection& selection, const LayerTraits& layer) {
  if (layer.choice == Choice::none) {
    return formatted("causal window, and every complete entry made of {} tokens", layer.compression);
  }
  return formatted("causal window, beyond it the {} entries that the indexer ranks highest, each made of {} tokens",
                   selection.kept.value, layer.compression);
}

void set_mask(MaskKind kind, std::string detail, Sees sees, const std::string& from, LayerFacts& layer) {
  layer.set(facts::kMaskKind, kind, from);
  layer.set_words(std::move(detail), sees, from);
}

}  // namespace

Selection read_selection(ConfigScope& scope) {
  Selection selection;
  const auto& rule = scope.family().indexer;
  if (!rule) return selection;
  if (rule->layers != IndexedLayers::marked) {
    selection.kept = required_sparse(scope, keys::kIndexKept, kKeyCounts);
    if (!scope.peek(keys::kIndexPool)) return selection;
    selection.block = required_sparse(scope, keys::kIndexPool, {1, kMaxPosition}).value;
    selection.kept.value /= selection.block;
    selection.pooled = true;
    return selection;
  }
  selection.kept = required_sparse(scope, keys::kIndexBlocks, kKeyCounts);
  selection.block = required_sparse(scope, keys::kIndexBlockSize, {1, kMaxPosition}).value;
  selection.own_blocks = required_sparse(scope, keys::kIndexOwnBlocks, kKeyCounts).value;
  return selection;
}

void refine_mask(ConfigScope& scope, const LayerPattern& pattern, const Selection& selection, const LayerTraits& layer,
                 LayerFacts& facts) {
  const Family& family = scope.family();
  if (layer.kind == LayerKind::cross_attention) {
    set_mask(MaskKind::bidirectional, "image tiles, those that the call allows the token", Sees::as_masked,
             family_default(family), facts);
  } else if (layer.type == LayerType::chunked && family.chunk_before_own && pattern.chunk.value) {
    set_mask(MaskKind::sparse, formatted("causal, the own chunk of {} and the one before it", *pattern.chunk.value),
             Sees::by_blocks, pattern.chunk.from, facts);
  } else if (layer.block_sparse) {
    set_mask(MaskKind::sparse, pattern.blocks_detail, Sees::by_blocks, pattern.blocks_from, facts);
  } else if (layer.compression > 0) {
    set_mask(MaskKind::sparse, compressed(selection, layer), Sees::beyond_window, pattern.compression_from, facts);
    if (layer.choice != Choice::none) facts.pick_keys();
  } else if (layer.choice != Choice::none) {
    const Sees sees = selection.block > 1 ? Sees::by_blocks : Sees::beyond_window;
    set_mask(MaskKind::sparse, chosen(selection, layer), sees, selection.kept.from, facts);
    facts.pick_keys();
  } else if (family.keeps_prompt && facts.layer().mask.window) {
    set_mask(MaskKind::sparse, "causal, prompt keys always, generated keys within the window", Sees::beyond_window,
             family_default(family), facts);
  }
}

void read_block_sparse(ConfigScope& scope, LayerPattern& pattern) {
  switch (scope.family().block_sparse) {
    case BlockSparse::none: break;
    case BlockSparse::dense_interval: return read_phi3small(scope, pattern);
    case BlockSparse::alternating: return read_alternating(scope, pattern);
  }
}

std::optional<Place> find_sparse(ConfigScope& scope, const Key& key) {
  const auto object = scope.peek(keys::kSparseAttention);
  if (!object || object->value.kind() != io::JsonKind::object) return scope.find(key);
  scope.reader().enter(object->value);
  for (std::string_view name : key.names) {
    auto place = scope.reader().look(object->value, name);
    if (!place || place->value.is_null()) continue;
    scope.reader().mark_read(*place);
    return place;
  }
  return scope.find(key);
}

Sourced<std::int64_t> required_sparse(ConfigScope& scope, const Key& key, Bounds bounds) {
  const auto place = find_sparse(scope, key);
  if (!place) return scope.required_integer(key, bounds);  // which says what is missing
  return {scope.reader().integer(*place, bounds).value_or(bounds.low), place->from};
}

}  // namespace posenc::plan
