// A tower's stack from its row (families/towers.cpp) and one object of the config: layers with windows and without.
#include <string>
#include <utility>

#include "base/formatted.h"
#include "plan/layers/patch_grid.h"
#include "plan/towers/towers.h"

namespace posenc::plan {
namespace {

// Sizes that are not known are 0, and nothing says them.
void add_shape(const TowerShape& shape, LayerFacts& layer) {
  if (shape.heads.value > 0) {
    layer.set(facts::kHeads, shape.heads);
    layer.set(facts::kKvHeads, shape.kv_heads);
  }
  if (shape.head_dim.value > 0) {
    layer.set(facts::kHeadDim, shape.head_dim);
    layer.set(facts::kValueDim, shape.head_dim);
  }
}

// What layers have in common, and what those see that have, or have not, a window.
LayerFacts layer_that_sees(const TowerSight& sight, const std::vector<ScoreTerm>& terms, LayerFacts layer) {
  for (const ScoreTerm& term : terms) layer.add(term);
  layer.set(sight.mask, sight.sources);
  return layer;
}

// To all that it is made of, tables like those of the stack's input, its own.
LayerFacts layer_that_adds(const StackFacts& stack, LayerFacts layer) {
  for (std::size_t i = 0; i < stack.input.size(); ++i) {
    layer.add(Added{.to = AddedTo::hidden_states, .scheme = stack.input[i]},
              i < stack.input_sources.size() ? stack.input_sources[i].from : std::string());
  }
  return layer;
}

// By what positions are divided in layers that see the whole image.
double read_stretch(ConfigScope& scope, const Tower& tower, const TowerMasks& masks) {
  if (!tower.rotation.image_over_window || masks.window.side == 0 || scope.reader().failed()) return 1;
  const PatchGrid grid = read_patch_grid(scope);
  return static_cast<double>(grid.width) / static_cast<double>(masks.window.side);
}

// GroupViT, arXiv 2202.11094: queries made of the group tokens look at the patches, which are then given to a group
// each; the groups are the next stage's patches.
void add_grouping_stages(ConfigScope& scope, const LayerFacts& seeing, std::int64_t room, StackFacts& stack) {
  const auto blocks = read_each(scope, keys::kStageBlocks, 0, {0, room});
  const auto tokens = read_each(scope, keys::kGroupTokens, blocks.value.size(), {0, kMaxPosition});
  if (scope.reader().failed()) return;
  const LayerFacts crossing = seeing.as(LayerKind::cross_attention);
  stack.count_from = blocks.from;
  std::int64_t block = 0;
  for (std::size_t stage = 0; stage < blocks.value.size(); ++stage) {
    const std::int64_t more = blocks.value[stage] + (tokens.value[stage] > 0 ? 1 : 0);
    if (more > room - block) {
      scope.fail(keys::kStageBlocks, ErrorKind::out_of_range, formatted("at most {} layers in all stages", room));
      return;
    }
    for (std::int64_t i = 0; i < blocks.value[stage]; ++i) stack.layers.add(seeing, block++);
    if (tokens.value[stage] > 0) stack.layers.add(crossing, block++);
  }
}

}  // namespace

StackFacts read_tower_stack(ConfigScope& scope, const Tower& tower, std::int64_t room) {
  StackFacts stack{.name = std::string(tower.stack)};
  const TowerShape shape = read_tower_shape(scope, tower, room);
  if (scope.reader().failed()) return stack;
  stack.count_from = shape.layers_from;
  LayerFacts shared(tower.crosses ? LayerKind::cross_attention : LayerKind::attention);
  add_shape(shape, shared);
  const TowerMasks masks = read_tower_masks(scope, tower, shape.layers);
  const TowerTerms terms = read_tower_scores(scope, tower, shape, masks, shared);
  LayerFacts seeing_all = shared;
  const double stretch = read_stretch(scope, tower, masks);
  read_tower_rotation(scope, tower, shape, 1, shared);
  read_tower_rotation(scope, tower, shape, stretch, seeing_all);
  TowerInputs inputs = read_tower_input(scope, tower);
  if (scope.reader().failed()) return stack;

  stack.input = std::move(inputs.input);
  stack.input_sources = std::move(inputs.sources);
  const bool adds_again = tower.again != nullptr && scope.flag(*tower.again).value.value_or(false);
  const LayerFacts whole = layer_that_sees(masks.whole, terms.whole, std::move(seeing_all));
  const LayerFacts window = layer_that_sees(masks.window, terms.window, std::move(shared));
  if (tower.groups) {
    add_grouping_stages(scope, whole, room, stack);
    return stack;
  }
  stack.layers.reserve(shape.layers);
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    if (tower.convolves) {
      stack.layers.add(LayerFacts(LayerKind::convolution), i);
      continue;
    }
    if (!masks.attends.empty() && !masks.attends[static_cast<std::size_t>(i)]) {
      stack.layers.add(LayerFacts(LayerKind::convolution), i);
      continue;
    }
    LayerFacts layer = masks.windowed[static_cast<std::size_t>(i)] ? window : whole;
    if (!shape.layer_kv_heads.value.empty()) {
      layer.set(facts::kKvHeads, shape.layer_kv_heads.value[static_cast<std::size_t>(i)], shape.layer_kv_heads.from);
    }
    if (!shape.crosses.empty() && shape.crosses[static_cast<std::size_t>(i)]) {
      layer = layer.as(LayerKind::cross_attention);
    }
    stack.layers.add(adds_again && i > 0 ? layer_that_adds(stack, std::move(layer)) : std::move(layer), i);
  }
  return stack;
}

}  // namespace posenc::plan
