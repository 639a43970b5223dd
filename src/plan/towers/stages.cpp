// A pyramid's stacks from its row (families/towers.cpp) and one object of the config, one for each stage: each has a
// grid of patches, heads and channels of its own.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "plan/layers/patch_grid.h"
#include "plan/towers/towers.h"

namespace posenc::plan {
namespace {

constexpr Bounds kStageHeadCounts{1, kMaxHeads};
constexpr Bounds kStageChannels{1, kMaxHiddenSize};
constexpr Bounds kSides{1, std::int64_t{1} << 20};  // in patches; the square stays far below 2^53

struct Stage {
  std::int64_t index = 0;
  std::int64_t blocks = 0;
  TowerShape shape;
  Sourced<std::int64_t> reduction{1, {}};
};

// A height and a width that are the same; a number stands for both.
Sourced<std::int64_t> read_side(ConfigScope& scope, const Key& key) {
  const Sourced<std::vector<std::int64_t>> both = read_each(scope, key, 2, kSides);
  if (scope.reader().failed()) return {1, {}};
  if (both.value[0] != both.value[1]) scope.fail(key, ErrorKind::out_of_range, "the same height and width");
  return {both.value[0], both.from};
}

Sourced<std::vector<std::int64_t>> read_blocks(ConfigScope& scope, const Tower& tower, std::int64_t room) {
  const std::span<const std::int64_t> fixed = tower.stages->blocks;
  if (!fixed.empty()) return {{fixed.begin(), fixed.end()}, family_default(tower.family)};
  Sourced<std::vector<std::int64_t>> blocks = read_each(scope, keys::kStageBlocks, 0, {0, room});
  std::int64_t sum = 0;
  for (const std::int64_t of : blocks.value) sum += of;
  if (!scope.reader().failed() && (sum > room || blocks.value.empty())) {
    scope.fail(keys::kStageBlocks, ErrorKind::out_of_range, formatted("1 to {} blocks in all stages", room));
  }
  return blocks;
}

// A list, or the first stage's, which grow from stage to stage.
Sourced<std::vector<std::int64_t>> read_widths(ConfigScope& scope, const StageRule& rule, std::size_t stages) {
  Sourced<std::vector<std::int64_t>> widths = read_each(scope, keys::kStageWidths, stages, kStageChannels);
  const auto place = scope.peek(keys::kStageWidths);
  if (scope.reader().failed() || !place || place->value.kind() == io::JsonKind::array) return widths;
  const double by = rule.one_grid ? 1 : scope.number(keys::kWidthMultiplier).value.value_or(2);
  for (std::size_t i = 1; i < stages; ++i) {
    const double width = std::trunc(static_cast<double>(widths.value[0]) * std::pow(by, static_cast<double>(i)));
    if (!(width >= 1 && width <= static_cast<double>(kMaxHiddenSize))) {
      scope.fail(keys::kStageWidths, ErrorKind::out_of_range, formatted("at most {} channels", kMaxHiddenSize));
      return widths;
    }
    widths.value[i] = static_cast<std::int64_t>(width);
  }
  return widths;
}

std::vector<Stage> read_shapes(ConfigScope& scope, const Tower& tower, std::int64_t room) {
  const Sourced<std::vector<std::int64_t>> blocks = read_blocks(scope, tower, room);
  const std::size_t count = blocks.value.size();
  if (scope.reader().failed()) return {};
  const auto heads = read_each(scope, *tower.stages->heads, count, kStageHeadCounts);
  const auto widths = read_widths(scope, *tower.stages, count);
  const bool reduces = tower.stages->reductions != nullptr;
  const auto reductions = reduces ? read_each(scope, *tower.stages->reductions, count, kSides)
                                  : Sourced<std::vector<std::int64_t>>{std::vector<std::int64_t>(count, 1), {}};
  if (scope.reader().failed()) return {};

  std::vector<Stage> stages;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t channels = widths.value[i] / heads.value[i];
    if (widths.value[i] % heads.value[i] != 0) {
      scope.fail(keys::kStageWidths, ErrorKind::not_divisible, formatted("multiples of the {} heads", heads.value[i]));
    } else if (channels > kMaxHeadDim) {
      scope.fail(keys::kStageWidths, ErrorKind::out_of_range, formatted("at most {} channels a head", kMaxHeadDim));
    }
    Stage stage{.index = static_cast<std::int64_t>(i), .blocks = blocks.value[i]};
    stage.shape.layers = blocks.value[i];
    stage.shape.layers_from = blocks.from;
    stage.shape.heads = {heads.value[i], heads.from};
    stage.shape.kv_heads = {heads.value[i], "default: as many as heads"};
    stage.shape.head_dim = {channels, widths.from};
    stage.shape.width_key = &keys::kStageWidths;
    stage.reduction = {reductions.value[i], reductions.from};
    stages.push_back(std::move(stage));
  }
  return stages;
}

// ---- what blocks see ----

// Of one stage.
struct StageMasks {
  TowerSight first;                     // of the first block
  TowerSight odd;                       // of the second, the fourth, ...
  TowerSight even;                      // of the others
  std::optional<std::int64_t> table{};  // side of the window that has a learned table of differences
};

TowerSight whole_grid(const Tower& tower, const Stage& stage, bool pooled_keys) {
  TowerSight sight{.mask = {.kind = MaskKind::bidirectional, .window = {}, .chunk = {}, .detail = {}},
                   .sources = {{"mask/kind", family_default(tower.family)}}};
  if (pooled_keys) {
    sight.mask.detail = "keys and values are of the grid averaged to 7 x 7";
  } else if (stage.reduction.value > 1) {
    sight.mask.detail = formatted("keys and values are made of {0} x {0} patches each", stage.reduction.value);
  }
  if (!sight.mask.detail.empty()) sight.mixing.tokens_before.reset();
  if (!sight.mask.detail.empty()) sight.sources.push_back({"mask/detail", stage.reduction.from});
  return sight;
}

TowerSight windows(std::string detail, const std::string& from) {
  TowerSight sight{.mask = {.kind = MaskKind::sparse, .window = {}, .chunk = {}, .detail = {}},
                   .sources = {{"mask/kind", from}, {"mask/detail", from}}};
  sight.mask.detail = std::move(detail);
  return sight;
}

StageMasks same_in_all(TowerSight sight) { return {.first = sight, .odd = sight, .even = sight}; }

StageMasks read_shifted(ConfigScope& scope, const Tower& tower) {
  const Sourced<std::int64_t> side = scope.required_integer(keys::kPatchWindow, kSides);
  const std::int64_t shift = side.value / 2;
  const std::string plain = formatted("windows of {0} x {0} patches", side.value);
  std::string moved = formatted("{}, {} patches further on", plain, shift);
  // SwinBackbone partitions in any case.
  if (tower.stages->sight == StageSight::shifted_where_smaller) {
    moved += " where the grid is larger than a window, and in a backbone";
  }
  StageMasks masks = same_in_all(windows(plain, side.from));
  if (shift > 0) masks.odd = windows(std::move(moved), side.from);
  masks.table = side.value;
  return masks;
}

// The grid is that of the image in the config, halved from stage to stage.
StageMasks read_fitted(ConfigScope& scope, const Tower& tower, const Stage& stage) {
  const Sourced<std::int64_t> window = scope.required_integer(keys::kPatchWindow, kSides);
  const PatchGrid patches = read_patch_grid(scope);
  if (scope.reader().failed()) return {};
  if (patches.height != patches.width) {
    scope.fail(keys::kImageSize, ErrorKind::out_of_range, "the same height and width");
    return {};
  }
  const std::int64_t grid =
      tower.stages->one_grid ? patches.height : patches.height >> std::min<std::int64_t>(stage.index, 62);
  if (grid < 1) scope.fail(keys::kImageSize, ErrorKind::out_of_range, "an image of at least one patch a stage");
  const bool is_whole = grid <= window.value;
  const std::int64_t side = is_whole ? std::max<std::int64_t>(grid, 1) : window.value;
  const std::string& from = is_whole ? patches.from : window.from;
  const std::string plain = formatted("windows of {0} x {0} patches", side);
  StageMasks masks = same_in_all(windows(plain, from));
  if (const std::int64_t shift = window.value / 2; shift > 0 && !is_whole) {
    masks.odd = windows(formatted("{}, {} patches further on", plain, shift), from);
  }
  masks.table = side;
  return masks;
}

StageMasks read_padded(ConfigScope& scope) {
  const Sourced<std::int64_t> side = scope.required_integer(keys::kPatchWindow, kSides);
  return same_in_all(windows(formatted("windows of {0} x {0} patches, zeros beyond the grid", side.value), side.from));
}

StageMasks read_places(ConfigScope& scope) {
  const Sourced<std::int64_t> side = scope.required_integer(keys::kPatchSize, kSides);
  if (side.value == 1) return same_in_all({.mask = {.kind = MaskKind::bidirectional}, .sources = {}});
  return same_in_all(
      windows(formatted("one place of every {0} x {0} of the grid: each {0}th in its row and its column", side.value),
              side.from));
}

// The first block of a stage still stands on the grid of the stage before: it pools its queries, and where it has a
// window, it is of that grid.
struct PooledWindows {
  std::vector<std::int64_t> sides;        // of each stage; 0: the whole grid
  std::vector<std::int64_t> first_sides;  // of the first block
  std::string from;
  std::int64_t pooled = 0;  // stages after the first that pool
  std::int64_t stride = 1;
  std::vector<std::int64_t> whole{};  // blocks, counted through all stages
};

std::string pooled_text(std::int64_t side, std::int64_t stride) {
  std::string text = side > 0 ? formatted("windows of {0} x {0} patches", side) : std::string("the whole grid");
  if (stride > 1) text += formatted(" of the stage before; a query is the largest of {0} x {0}", stride);
  return text;
}

TowerSight pooled_sight(const PooledWindows& all, std::int64_t side, bool pools, const std::string& own) {
  const std::int64_t stride = pools ? all.stride : 1;
  TowerSight sight = windows(pooled_text(side, stride), all.from);
  if (side > 0) return sight;
  sight.mask.kind = MaskKind::bidirectional;
  if (stride > 1) return sight;
  sight.mask.detail.clear();
  sight.sources = {{"mask/kind", own}};
  return sight;
}

// SAM 2.
PooledWindows read_listed(ConfigScope& scope, std::size_t stages) {
  const auto sides = read_each(scope, keys::kStageWindows, stages, {0, kSides.high});
  PooledWindows all{.sides = sides.value, .first_sides = sides.value, .from = sides.from};
  for (std::size_t i = 1; i < sides.value.size(); ++i) all.first_sides[i] = sides.value[i - 1];
  const auto place = scope.find(keys::kWholeBlocks);
  if (const auto list = place ? scope.reader().list(*place) : std::nullopt) {
    for (const io::JsonValue& entry : *list) {
      const Place at{entry, place->in_file ? entry.pointer() : place->from, place->in_file};
      all.whole.push_back(scope.reader().integer(at, {0, kMaxLayers}).value_or(0));
    }
  }
  return all;
}

// Hiera: a mask unit has a stride-th of its patches a side in the next stage.
PooledWindows read_mask_units(ConfigScope& scope, std::size_t stages, std::int64_t stride) {
  const Sourced<std::int64_t> unit = read_side(scope, keys::kMaskUnit);
  const auto place = scope.find(keys::kMaskUnitStages);
  if (!place) scope.fail_missing(keys::kMaskUnitStages);
  const auto list = place ? scope.reader().list(*place) : std::nullopt;
  if (scope.reader().failed() || !list) return {};
  if (list->size() != stages) {
    scope.reader().fail(*place, ErrorKind::length_mismatch, formatted("an entry for each of the {} stages", stages));
    return {};
  }
  PooledWindows all{.from = place->from};
  std::int64_t side = unit.value;
  for (std::size_t i = 0; i < stages; ++i) {
    const bool own = is_marked(scope.reader(), (*list)[i]);
    const bool before = is_marked(scope.reader(), (*list)[i == 0 ? 0 : i - 1]);
    all.sides.push_back(own ? side : 0);
    all.first_sides.push_back(own || before ? side * (i == 0 ? 1 : stride) : 0);
    side /= stride;
  }
  return all;
}

PooledWindows read_pooled(ConfigScope& scope, const Tower& tower, std::size_t stages) {
  const Sourced<std::int64_t> stride = read_side(scope, keys::kQueryStride);
  const Sourced<std::int64_t> pooled = scope.required_integer(keys::kPooledStages, {0, kMaxLayers});
  const bool listed = tower.stages->sight == StageSight::listed_windows;
  PooledWindows all = listed ? read_listed(scope, stages) : read_mask_units(scope, stages, stride.value);
  all.stride = stride.value;
  all.pooled = pooled.value;
  return all;
}

// ---- a stage's stack ----

StackFacts start(const std::string& name, const Stage& stage) {
  return {.name = formatted("{}_stage{}", name, stage.index + 1), .count_from = stage.shape.layers_from};
}

LayerFacts shared_facts(ConfigScope& scope, const Tower& tower, const Stage& stage) {
  LayerFacts layer(LayerKind::attention);
  layer.set(facts::kHeads, stage.shape.heads);
  layer.set(facts::kKvHeads, stage.shape.kv_heads);
  layer.set(facts::kHeadDim, stage.shape.head_dim);
  layer.set(facts::kValueDim, stage.shape.head_dim);
  read_tower_scores(scope, tower, stage.shape, {}, layer);
  return layer;
}

LayerFacts seeing(const TowerSight& sight, LayerFacts layer) {
  layer.set(sight.mask, sight.sources);
  if (sight.mixing != Mixing{}) layer.set(facts::kMixing, sight.mixing, sight.sources.back().from);
  return layer;
}

// `mixes`: channels attend to channels behind it, over all places, and no position is told.
void add_blocks(const StageMasks& masks, const Stage& stage, bool mixes, LayerFacts shared, StackFacts& stack) {
  if (masks.table) {
    shared.add(GridBias{.rows = *masks.table, .columns = *masks.table});
    shared.say("score", masks.first.sources.front().from);
  }
  for (std::int64_t i = 0; i < stage.blocks; ++i) {
    stack.layers.add(seeing(i == 0 ? masks.first : i % 2 == 1 ? masks.odd : masks.even, shared), i);
    if (mixes) stack.layers.add(LayerFacts(LayerKind::linear_attention), i);
  }
}

void add_pooled_blocks(const PooledWindows& all, const Tower& tower, const Stage& stage, std::int64_t blocks_before,
                       const LayerFacts& shared, StackFacts& stack) {
  const auto at = static_cast<std::size_t>(stage.index);
  const std::string own = family_default(tower.family);
  for (std::int64_t i = 0; i < stage.blocks; ++i) {
    const bool pools = i == 0 && stage.index > 0 && stage.index <= all.pooled;
    std::int64_t side = i == 0 && stage.index > 0 ? all.first_sides[at] : all.sides[at];
    for (const std::int64_t block : all.whole) side = block == blocks_before + i ? 0 : side;
    stack.layers.add(seeing(pooled_sight(all, side, pools, own), shared), i);
  }
}

// PVT: the table of the i-th stage is of the image halved i + 1 times (of the first: of the image), in patches of its
// own; that of the last has a class token's row besides.
void add_table(ConfigScope& scope, const Stage& stage, std::size_t stages, StackFacts& stack) {
  const Sourced<std::int64_t> image = read_side(scope, keys::kImageSize);
  const auto patches = read_each(scope, keys::kStagePatches, stages, kSides);
  if (scope.reader().failed()) return;
  const std::int64_t pixels =
      stage.index == 0 ? image.value : image.value >> std::min<std::int64_t>(stage.index + 1, 62);
  const std::int64_t side = pixels / patches.value[static_cast<std::size_t>(stage.index)];
  if (side < 1) return scope.fail(keys::kImageSize, ErrorKind::out_of_range, "an image of at least one patch a stage");
  const bool is_last = stage.index + 1 == static_cast<std::int64_t>(stages);
  stack.input.emplace_back(LearnedInput{.positions = side * side + (is_last ? 1 : 0)});
  stack.input_sources.push_back({"input/0/positions", image.from});
}

StageMasks read_sight(ConfigScope& scope, const Tower& tower, const Stage& stage, bool pooled_keys) {
  switch (tower.stages->sight) {
    case StageSight::shifted_windows:
    case StageSight::shifted_where_smaller: return read_shifted(scope, tower);
    case StageSight::fitted_windows: return read_fitted(scope, tower, stage);
    case StageSight::windows_and_channels: return read_padded(scope);
    case StageSight::places: return read_places(scope);
    case StageSight::grid:
    case StageSight::listed_windows:
    case StageSight::mask_units: break;
  }
  return same_in_all(whole_grid(tower, stage, pooled_keys));
}

}  // namespace

Sourced<std::vector<std::int64_t>> read_each(ConfigScope& scope, const Key& key, std::size_t count, Bounds bounds) {
  const auto place = scope.find(key);
  if (!place) {
    scope.fail_missing(key);
    return {};
  }
  ConfigReader& reader = scope.reader();
  std::vector<std::int64_t> each;
  if (place->value.kind() != io::JsonKind::array) {
    each.assign(count, reader.integer(*place, bounds).value_or(bounds.low));
    return {std::move(each), place->from};
  }
  const auto list = reader.list(*place);
  if (!list) return {};
  if (count > 0 && list->size() != count) {
    reader.fail(*place, ErrorKind::length_mismatch, formatted("{} entries", count));
    return {};
  }
  for (const io::JsonValue& entry : *list) {
    const Place at{entry, place->in_file ? entry.pointer() : place->from, place->in_file};
    each.push_back(reader.integer(at, bounds).value_or(bounds.low));
  }
  return {std::move(each), place->from};
}

std::vector<StackFacts> read_stages(ConfigScope& scope, const Tower& tower, const std::string& name,
                                    std::int64_t room) {
  const std::vector<Stage> stages = read_shapes(scope, tower, room);
  const StageSight sight = tower.stages->sight;
  const bool pools = sight == StageSight::listed_windows || sight == StageSight::mask_units;
  std::vector<StackFacts> stacks;
  if (scope.reader().failed()) return stacks;
  const PooledWindows pooled = pools ? read_pooled(scope, tower, stages.size()) : PooledWindows{};
  const bool pooled_keys =
      tower.stages->reductions == &keys::kKeyReductions && scope.flag(keys::kPooledKeys).value.value_or(false);
  TowerInputs inputs = read_tower_input(scope, tower);
  std::int64_t before = 0;
  for (const Stage& stage : stages) {
    StackFacts stack = start(name, stage);
    LayerFacts shared = shared_facts(scope, tower, stage);
    const StageMasks masks = read_sight(scope, tower, stage, pooled_keys);
    if (tower.stages->tables) add_table(scope, stage, stages.size(), stack);
    if (scope.reader().failed()) return {};
    if (stage.index == 0 && !tower.stages->tables) {
      stack.input = std::move(inputs.input);
      stack.input_sources = std::move(inputs.sources);
    }
    if (pools) {
      add_pooled_blocks(pooled, tower, stage, before, shared, stack);
    } else {
      add_blocks(masks, stage, sight == StageSight::windows_and_channels, std::move(shared), stack);
    }
    before += stage.blocks;
    stacks.push_back(std::move(stack));
  }
  return stacks;
}

}  // namespace posenc::plan
