#include "plan/layers/sparse_masks.h"

#include <string>

#include "base/formatted.h"
#include "plan/layers/sparse_config.h"

namespace posenc::plan {
namespace {

constexpr Bounds kKeyCounts{0, kMaxPosition};

std::string own_blocks(std::int64_t count) {
  if (count == 0) return {};
  if (count == 1) return ", the own block always";
  return formatted(", the own block and the {} before it always", count - 1);
}

std::string chosen(const Selection& selection, const LayerTraits& layer) {
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

void set(Mask& mask, MaskKind kind, std::string detail, const std::string& from, std::vector<FieldSource>& sources) {
  mask.kind = kind;
  mask.detail = std::move(detail);
  std::erase_if(sources, [](const FieldSource& source) { return source.field == "mask/kind"; });
  sources.push_back({"mask/kind", from});
  sources.push_back({"mask/detail", from});
}

}  // namespace

Selection read_selection(ConfigScope& scope) {
  Selection selection;
  const auto& rule = scope.family().indexer;
  if (!rule) return selection;
  if (rule->layers != IndexedLayers::marked) {
    selection.kept = required_sparse(scope, keys::kIndexKept, kKeyCounts);
    return selection;
  }
  selection.kept = required_sparse(scope, keys::kIndexBlocks, kKeyCounts);
  selection.block = required_sparse(scope, keys::kIndexBlockSize, {1, kMaxPosition}).value;
  selection.own_blocks = required_sparse(scope, keys::kIndexOwnBlocks, kKeyCounts).value;
  return selection;
}

void refine_mask(ConfigScope& scope, const LayerPattern& pattern, const Selection& selection, const LayerTraits& layer,
                 Mask& mask, std::vector<FieldSource>& sources) {
  const Family& family = scope.family();
  if (layer.kind == LayerKind::cross_attention) {
    mask.window.reset();
    return set(mask, MaskKind::bidirectional, "image tiles, those that the call allows the token",
               family_default(family), sources);
  }
  if (layer.block_sparse) return set(mask, MaskKind::sparse, pattern.blocks_detail, pattern.blocks_from, sources);
  if (layer.compression > 0) {
    return set(mask, MaskKind::sparse, compressed(selection, layer), pattern.compression_from, sources);
  }
  if (layer.choice != Choice::none) {
    return set(mask, MaskKind::sparse, chosen(selection, layer), selection.kept.from, sources);
  }
  if (family.keeps_prompt && mask.window) {
    return set(mask, MaskKind::sparse, "causal, prompt keys always, generated keys within the window",
               family_default(family), sources);
  }
}

}  // namespace posenc::plan
