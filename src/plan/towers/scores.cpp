// Softmax scale, QK norm, softcap and relative terms of a tower's layers: SAM's tables, Gemma 4 audio's sines.
#include <cmath>
#include <numbers>
#include <optional>

#include "base/formatted.h"
#include "plan/layers/patch_grid.h"
#include "plan/towers/towers.h"

namespace posenc::plan {
namespace {

void read_scale(const Tower& tower, const TowerShape& shape, LayerFacts& layer) {
  const double root = std::sqrt(static_cast<double>(shape.head_dim.value));
  switch (tower.scale) {
    case TowerScale::one: return layer.set(facts::kSoftmaxScale, 1.0, family_default(tower.family));
    case TowerScale::head_dim:
      if (shape.head_dim.value > 0) layer.set(facts::kSoftmaxScale, 1 / root, "default: 1 / sqrt(head_dim)");
      return;
    case TowerScale::per_head:
      layer.set(facts::kSoftmaxScale, 1.0, family_default(tower.family));
      return layer.scale_channels();
    case TowerScale::width: {
      const double all = root * std::sqrt(static_cast<double>(shape.heads.value));
      return layer.set(facts::kSoftmaxScale, 1 / all, family_default(tower.family));
    }
    case TowerScale::per_query:
      // q by softplus(w) / (ln(2) sqrt(head_dim)); w is learned.
      layer.set(facts::kSoftmaxScale, 1 / (std::numbers::ln2 * root), family_default(tower.family));
      return layer.scale_channels();
    case TowerScale::per_channel: {
      // q by softplus(w) / (ln(2) sqrt(head_dim)), k by softplus(1) / ln(2); w is learned.
      constexpr double kSoftplusOf1 = 1.3132616875182228;  // ln(1 + e)
      const double scale = kSoftplusOf1 / (std::numbers::ln2 * std::numbers::ln2 * root);
      layer.set(facts::kSoftmaxScale, scale, family_default(tower.family));
      layer.scale_channels();
    }
  }
}

void read_norm(ConfigScope& scope, const Tower& tower, LayerFacts& layer) {
  if (!tower.qk_norm) return layer.set(facts::kQkNorm, {}, family_default(tower.family));
  if (tower.qk_norm->switch_key.empty()) {
    return layer.set(facts::kQkNorm, tower.qk_norm->norm, family_default(tower.family));
  }
  const Setting<bool> on = scope.flag(Key{Names(tower.qk_norm->switch_key), {}});
  layer.set(facts::kQkNorm, on.value.value_or(false) ? std::optional(tower.qk_norm->norm) : std::nullopt, on.from);
}

void read_cap(ConfigScope& scope, const Tower& tower, LayerFacts& layer) {
  if (tower.soft_cap == nullptr) return layer.set(facts::kSoftCap, {}, family_default(tower.family));
  const Sourced<double> cap = scope.required_positive(*tower.soft_cap);
  layer.set(facts::kSoftCap, SoftCap{.cap = cap.value}, cap.from);
}

// A row for each difference of rows, and of columns, of what a layer sees: 2 * side - 1 (MViTv2, arXiv 2112.01526).
TowerTerms read_decomposed(ConfigScope& scope, const TowerMasks& masks, LayerFacts& layer) {
  const Setting<bool> relative = scope.flag(keys::kRelativeTables);
  layer.say("score", relative.from);
  if (relative.value && !*relative.value) return {};
  const PatchGrid grid = read_patch_grid(scope);
  if (scope.reader().failed()) return {};
  if (grid.height != grid.width) {
    scope.reader().undecided(formatted("{}: its tables of row and column differences are not of one size.", grid.from),
                             {grid.from});
  }
  TowerTerms terms{.whole = {DecomposedHw{2 * grid.height - 1}}, .window = {}};
  if (masks.window.side > 0) terms.window = {DecomposedHw{2 * masks.window.side - 1}};
  return terms;
}

TowerTerms sines_of(Distances distances) {
  return {.whole = {TransformerXl{.content_bias = false,
                                  .position_bias = false,
                                  .sinusoid = SinusoidConvention::tensor2tensor,
                                  .distances = distances}},
          .window = {}};
}

// Rows of sines for distances 0 to half of a chunk's context.
TowerTerms read_relative_sines(ConfigScope& scope, const Tower& tower, const TowerMasks& masks, LayerFacts& layer) {
  const Sourced<std::int64_t> chunk = scope.required_integer(keys::kChunk, {1, kMaxPosition >> 2});
  const Sourced<std::int64_t> right = scope.required_integer(keys::kContextRight, {0, kMaxPosition >> 2});
  if (scope.reader().failed() || !masks.whole.mask.window) return {};
  const std::int64_t context = chunk.value + masks.whole.mask.window->past + 1 + right.value;
  layer.say("score", family_default(tower.family));
  return sines_of({0, context / 2});
}

}  // namespace

TowerTerms read_tower_scores(ConfigScope& scope, const Tower& tower, const TowerShape& shape, const TowerMasks& masks,
                             LayerFacts& layer) {
  read_scale(tower, shape, layer);
  read_norm(scope, tower, layer);
  read_cap(scope, tower, layer);
  switch (tower.score) {
    case TowerScore::none: break;
    case TowerScore::decomposed_hw: return read_decomposed(scope, masks, layer);
    case TowerScore::transformer_xl: return read_relative_sines(scope, tower, masks, layer);
    case TowerScore::frames: {
      if (scope.reader().failed() || !masks.whole.mask.window) return {};
      layer.say("score", family_default(tower.family));
      return sines_of({-masks.whole.mask.window->future, masks.whole.mask.window->past});
    }
  }
  return {};
}

}  // namespace posenc::plan
