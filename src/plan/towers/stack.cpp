#include "plan/towers/stack.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/formatted.h"
#include "plan/assemble/layer_sources.h"
#include "plan/towers/input.h"
#include "plan/towers/masks.h"
#include "plan/towers/rotation.h"
#include "plan/towers/scores.h"
#include "plan/towers/shape.h"

namespace posenc::plan {
namespace {

void append(std::vector<FieldSource>& to, const std::vector<FieldSource>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

struct TowerFacts {
  TowerShape shape;
  TowerRotation rotation;
  TowerMasks masks;
  TowerScores scores;
};

LayerPlan layer_of(const TowerFacts& facts, std::int64_t index) {
  const bool windowed = facts.masks.windowed[static_cast<std::size_t>(index)];
  LayerPlan layer;
  layer.index = index;
  layer.heads = facts.shape.heads.value;
  layer.kv_heads = facts.shape.kv_heads.value;
  layer.head_dim = facts.shape.head_dim.value;
  layer.value_dim = facts.shape.head_dim.value;
  layer.softmax_scale = facts.scores.softmax_scale;
  layer.channel_scale = facts.scores.channel_scale;
  layer.soft_cap = facts.scores.soft_cap;
  layer.qk_norm = facts.scores.qk_norm;
  layer.mask = facts.masks.of_layer(index).mask;
  layer.rotate = facts.rotation.rotate;
  layer.score = windowed ? facts.scores.window : facts.scores.whole;
  return layer;
}

std::vector<FieldSource> shared_sources(const TowerFacts& facts) {
  const TowerShape& shape = facts.shape;
  std::vector<FieldSource> sources;
  if (shape.heads.value > 0) sources = {{"heads", shape.heads.from}, {"kv_heads", shape.kv_heads.from}};
  if (shape.head_dim.value > 0)
    append(sources, {{"head_dim", shape.head_dim.from}, {"value_dim", shape.head_dim.from}});
  append(sources, facts.rotation.sources);
  append(sources, facts.scores.sources);
  return sources;
}

void add_layers(const TowerFacts& facts, std::string_view prefix, Stack& stack, std::vector<ValueSource>& sources) {
  const std::vector<FieldSource> shared = shared_sources(facts);
  LayerSources by_layer;
  stack.layers.reserve(static_cast<std::size_t>(facts.shape.layers));
  for (std::int64_t i = 0; i < facts.shape.layers; ++i) {
    stack.layers.push_back(layer_of(facts, i));
    by_layer.add(i, shared);
    by_layer.add(i, facts.masks.of_layer(i).sources);
  }
  std::vector<ValueSource> merged = by_layer.merged(formatted("{}/layers", prefix));
  std::ranges::move(merged, std::back_inserter(sources));
}

}  // namespace

std::int64_t room_for_layers(const Plan& plan) {
  std::int64_t used = 0;
  for (const Stack& stack : plan.stacks) used += static_cast<std::int64_t>(stack.layers.size());
  return std::max<std::int64_t>(kMaxLayers - used, 1);
}

void read_tower_stack(ConfigScope& scope, const Tower& tower, Plan& plan) {
  const std::string prefix = formatted("/stacks/{}", plan.stacks.size());
  TowerFacts facts{.shape = read_tower_shape(scope, tower, room_for_layers(plan))};
  if (scope.reader().failed()) return;
  facts.rotation = read_tower_rotation(scope, tower, facts.shape);
  facts.masks = read_tower_masks(scope, tower, facts.shape.layers);
  facts.scores = read_tower_scores(scope, tower, facts.shape, facts.masks);
  TowerInputs inputs = read_tower_input(scope, tower);
  if (scope.reader().failed()) return;

  Stack stack{.name = std::string(tower.stack), .input = std::move(inputs.input), .layers = {}};
  for (FieldSource& source : inputs.sources) {
    plan.sources.push_back({formatted("{}/input/{}", prefix, source.field), std::move(source.from)});
  }
  plan.sources.push_back({formatted("{}/layers", prefix), facts.shape.layers_from});
  add_layers(facts, prefix, stack, plan.sources);
  plan.stacks.push_back(std::move(stack));
}

}  // namespace posenc::plan
