// Contextual positions, arXiv 2405.18719: by hand, and by the listing of the paper.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attend/attending.h"
#include "attend/fused/matrix.h"
#include "support/tolerances.h"

namespace posenc::test::cope_test {
namespace {

LayerPlan causal(LayerPlan layer) {
  layer.mask.kind = MaskKind::causal;
  return layer;
}

// Keys of 0 have gates of 1/2. Token 3 of 4 counts 2, 1.5, 1 and 0.5 to the keys from the first on: the key and the
// query are counted, too. E = 0, 10, 40: at 1.5 half way between 10 and 40; q = 1.
TEST(Cope, CountsGatesFromTheQueryBack) {
  const Tensor q = tensor_of({4, 1, 1}, {1, 1, 1, 1});
  const Tensor k = zeros({4, 1, 1});
  const Tensor table = tensor_of({3, 1}, {0, 10, 40});
  const Attended got =
      attended(causal(layer_with(ContextualPosition{.positions = 3})),
               {.q = q, .k = k, .v = k, .weights = {.score = {CopeWeights{table}}}, .stage = ScoreStage::biased});
  constexpr double kUnseen = -HUGE_VAL;
  EXPECT_EQ(got.scores.values, (std::vector<double>{5, kUnseen, kUnseen, kUnseen,  //
                                                    10, 5, kUnseen, kUnseen,       //
                                                    25, 10, 5, kUnseen,            //
                                                    40, 25, 10, 5}));
}

// With two rows a count of 1.5 is the last row's.
TEST(Cope, EndsAtTheLastRow) {
  const Tensor q = tensor_of({3, 1, 1}, {1, 1, 1});
  const Tensor k = zeros({3, 1, 1});
  const Tensor table = tensor_of({2, 1}, {0, 10});
  const Attended got =
      attended(causal(layer_with(ContextualPosition{.positions = 2})),
               {.q = q, .k = k, .v = k, .weights = {.score = {CopeWeights{table}}}, .stage = ScoreStage::biased});
  EXPECT_EQ(got.score(0, 2, 0), 10);
  EXPECT_EQ(got.score(0, 2, 1), 10);
  EXPECT_EQ(got.score(0, 2, 2), 5);
}

// A key that is hidden counts nothing, wherever it stands.
TEST(Cope, CountsWhatIsSeen) {
  const Tensor q = tensor_of({3, 1, 1}, {1, 1, 1});
  const Tensor k = zeros({3, 1, 1});
  const Tensor table = tensor_of({3, 1}, {0, 10, 40});
  const Tensor seen = tensor_of({1, 3}, {1, 0, 1});
  const Attended got =
      attended(causal(layer_with(ContextualPosition{.positions = 3})), {.q = q,
                                                                        .k = k,
                                                                        .v = k,
                                                                        .weights = {.score = {CopeWeights{table}}},
                                                                        .inputs = {.attn_mask = seen},
                                                                        .stage = ScoreStage::biased});
  EXPECT_EQ(got.score(0, 2, 0), 10);
  EXPECT_EQ(got.score(0, 2, 2), 5);
}

// A score of ln 3 with its scale is a gate of 3/4; without the scale it would be 9/10. The term itself is not scaled.
TEST(Cope, MakesGatesOfScaledScores) {
  LayerPlan layer = causal(layer_with(ContextualPosition{.positions = 3}));
  layer.softmax_scale = 0.5;
  const Tensor q = tensor_of({1, 1, 1}, {1});
  const Tensor k = tensor_of({1, 1, 1}, {2 * std::log(3.0)});
  const Tensor table = tensor_of({3, 1}, {0, 10, 40});
  const Attended got = attended(
      layer, {.q = q, .k = k, .v = k, .weights = {.score = {CopeWeights{table}}}, .stage = ScoreStage::biased});
  EXPECT_DOUBLE_EQ(got.score(0, 0, 0), std::log(3.0) + 7.5);
}

// A gate that is NaN counts for all keys before it, and for none after it.
TEST(Cope, OfNaNIsNaN) {
  LayerPlan layer = causal(layer_with(ContextualPosition{.positions = 3}));
  const Tensor q = tensor_of({3, 1, 1}, {1, 1, 1});
  const Tensor k = tensor_of({3, 1, 1}, {0, std::nan(""), 0});
  const Tensor table = tensor_of({3, 1}, {0, 10, 40});
  const Call call{.q = q, .k = k, .v = k, .weights = {.score = {CopeWeights{table}}}, .stage = ScoreStage::biased};
  const Attended got = attended(layer, call);
  EXPECT_TRUE(std::isnan(got.score(0, 2, 0)));
  EXPECT_TRUE(std::isnan(got.score(0, 2, 1)));
  EXPECT_EQ(got.score(0, 2, 2), 5);
}

// SelfAttn.forward and CoPE.forward of one head: logits, masked; what they become.
Matrix listing(const Matrix& query, const Matrix& key, double scale, const Matrix& pos_emb) {
  constexpr double kInf = HUGE_VAL;
  Matrix attn_logits = product(query, transposed(key));
  const std::int64_t n = attn_logits.rows;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) attn_logits(i, j) = attn_logits(i, j) * scale + (j <= i ? 0 : -kInf);
  }
  const Matrix logits_int = product(query, transposed(pos_emb));
  for (std::int64_t i = 0; i < n; ++i) {
    std::vector<double> pos;  // gates.flip(-1).cumsum(-1), still flipped
    for (std::int64_t j = n - 1; j >= 0; --j) {
      const double gate = 1 / (1 + std::exp(-attn_logits(i, j)));
      pos.push_back(gate + (pos.empty() ? 0 : pos.back()));
    }
    std::ranges::reverse(pos);
    for (std::int64_t j = 0; j < n; ++j) {
      const double at = std::min(pos[static_cast<std::size_t>(j)], static_cast<double>(pos_emb.rows - 1));
      const double w = at - std::floor(at);
      attn_logits(i, j) += logits_int(i, static_cast<std::int64_t>(std::ceil(at))) * w +
                           logits_int(i, static_cast<std::int64_t>(std::floor(at))) * (1 - w);
    }
  }
  return attn_logits;
}

TEST(Cope, IsThePapersListing) {
  constexpr std::int64_t kTokens = 12;
  constexpr std::int64_t kHeads = 2;
  constexpr std::int64_t kHeadDim = 4;
  constexpr double kScale = 0.25;
  Random random(2405);
  const Tensor q = whole_tensor(random, {kTokens, kHeads, kHeadDim});
  const Tensor k = whole_tensor(random, {kTokens, kHeads, kHeadDim});
  for (const std::int64_t positions : {4, 20}) {
    const Tensor table = whole_tensor(random, {positions, kHeadDim});
    LayerPlan layer = causal(bare_layer(kHeads, kHeadDim, kHeadDim));
    layer.score = {ContextualPosition{.positions = positions}};
    layer.softmax_scale = kScale;
    const Attended got = attended(
        layer, {.q = q, .k = k, .v = k, .weights = {.score = {CopeWeights{table}}}, .stage = ScoreStage::biased});
    for (std::int64_t h = 0; h < kHeads; ++h) {
      const Matrix query = head_of(q, h);
      const Matrix wanted = listing(query, head_of(k, h), kScale, matrix_of(table));
      for (std::int64_t i = 0; i < kTokens; ++i) {
        // Scores and products with E are whole, and neither is above `most`. A gate is made in 3 steps (5
        // roundings), their sum in up to kTokens more; the count moves the term by at most 2 most for each 1.
        double most = 0.0;
        for (std::int64_t c = 0; c < kHeadDim; ++c) most += 4 * std::abs(query(i, c));
        const double bound = same_score(kTokens * 2 * most, 5 + kTokens) + same_score(most + kScale * most, 5);
        for (std::int64_t j = 0; j <= i; ++j) {
          EXPECT_NEAR(got.score(h, i, j), wanted(i, j), bound) << positions << " " << h << " " << i << " " << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace posenc::test::cope_test
