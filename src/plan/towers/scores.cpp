#include "plan/towers/scores.h"

#include <cmath>
#include <numbers>

#include "plan/towers/input.h"

namespace posenc::plan {
namespace {

void read_scale(const Tower& tower, const TowerShape& shape, TowerScores& scores) {
  const double root = std::sqrt(static_cast<double>(shape.head_dim.value));
  switch (tower.scale) {
    case TowerScale::one: break;
    case TowerScale::head_dim:
      if (shape.head_dim.value == 0) return;
      scores.softmax_scale = 1 / root;
      return scores.sources.push_back({"softmax_scale", "default: 1 / sqrt(head_dim)"});
    case TowerScale::per_channel: {
      // q by softplus(w) / (ln(2) sqrt(head_dim)), k by softplus(1) / ln(2); w is learned.
      const double softplus_one = std::log1p(std::numbers::e);
      scores.softmax_scale = softplus_one / (std::numbers::ln2 * std::numbers::ln2 * root);
      scores.channel_scale = true;
      break;
    }
  }
  scores.sources.push_back({"softmax_scale", family_default(tower.family)});
}

void read_norm(ConfigScope& scope, const Tower& tower, TowerScores& scores) {
  std::string from = family_default(tower.family);
  if (tower.qk_norm && !tower.qk_norm->switch_key.empty()) {
    const Setting<bool> on = scope.flag(Key{Names(tower.qk_norm->switch_key), {}});
    from = on.from;
    if (on.value && *on.value) scores.qk_norm = tower.qk_norm->norm;
  } else if (tower.qk_norm) {
    scores.qk_norm = tower.qk_norm->norm;
  }
  scores.sources.push_back({"qk_norm", std::move(from)});
}

void read_cap(ConfigScope& scope, const Tower& tower, TowerScores& scores) {
  if (tower.soft_cap == nullptr) return scores.sources.push_back({"soft_cap", family_default(tower.family)});
  const Sourced<double> cap = scope.required_number(*tower.soft_cap);
  const auto place = scope.peek(*tower.soft_cap);
  if (place && cap.value <= 0) scope.reader().fail(*place, ErrorKind::out_of_range, "a number above 0");
  scores.soft_cap = SoftCap{.cap = cap.value};
  scores.sources.push_back({"soft_cap", cap.from});
}

// A row for each difference of rows, and of columns, of what a layer sees: 2 * side - 1 (MViTv2, arXiv 2112.01526).
void read_decomposed(ConfigScope& scope, const TowerMasks& masks, TowerScores& scores) {
  const Setting<bool> relative = scope.flag(keys::kRelativeTables);
  scores.sources.push_back({"score", relative.from});
  if (relative.value && !*relative.value) return;
  const PatchGrid grid = read_patch_grid(scope);
  if (scope.reader().failed()) return;
  scores.whole = {DecomposedHw{2 * grid.height - 1}};
  if (masks.window.side > 0) scores.window = {DecomposedHw{2 * masks.window.side - 1}};
}

// Rows of sines for distances 0 to half of a chunk's context.
void read_relative_sines(ConfigScope& scope, const Tower& tower, const TowerMasks& masks, TowerScores& scores) {
  const Sourced<std::int64_t> chunk = scope.required_integer(keys::kChunk, {1, kMaxPosition >> 2});
  const Sourced<std::int64_t> right = scope.required_integer(keys::kContextRight, {0, kMaxPosition >> 2});
  if (scope.reader().failed() || !masks.whole.mask.window) return;
  const std::int64_t context = chunk.value + masks.whole.mask.window->past + 1 + right.value;
  scores.whole = {TransformerXl{.content_bias = false,
                                .position_bias = false,
                                .sinusoid = SinusoidConvention::tensor2tensor,
                                .distances = Distances{0, context / 2}}};
  scores.sources.push_back({"score", family_default(tower.family)});
}

}  // namespace

TowerScores read_tower_scores(ConfigScope& scope, const Tower& tower, const TowerShape& shape,
                              const TowerMasks& masks) {
  TowerScores scores;
  read_scale(tower, shape, scores);
  read_norm(scope, tower, scores);
  read_cap(scope, tower, scores);
  switch (tower.score) {
    case TowerScore::none: break;
    case TowerScore::decomposed_hw: read_decomposed(scope, masks, scores); break;
    case TowerScore::transformer_xl: read_relative_sines(scope, tower, masks, scores); break;
  }
  return scores;
}

}  // namespace posenc::plan
