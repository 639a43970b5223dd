// Where the scale of a query acts: on all that q is multiplied with, before biases and caps, by its position.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attend/attending.h"
#include "attend/fused/matrix.h"
#include "posenc/scores.h"
#include "support/ropes.h"
#include "support/tolerances.h"

namespace posenc::test::query_scale_test {
namespace {

// Steps of 2 tokens, so that tokens 0, 1 and 3 have scales 1, 1 + ln 2 and 1 + ln 3.
const QueryScale kSteps = Llama4Temperature{.attn_scale = 1.0, .floor_scale = 2.0};

// q = 3, k = 5, scale 1/2, a row of Shaw's 7 and a bias of 11: (15 + 21) / 2 = 18 times tau, and 11.
TEST(ScaledQueries, ScaleContentTermsAndNoBias) {
  LayerPlan layer = layer_with(ShawKeys{});
  layer.score.emplace_back(ClippedBias{});
  layer.softmax_scale = 0.5;
  layer.query_scale = kSteps;
  const Tensor q = tensor_of({4, 1, 1}, {3, 3, 3, 3});
  const Tensor k = tensor_of({1, 1, 1}, {5});
  const Tensor shaw = tensor_of({1, 1}, {7});
  const Tensor bias = tensor_of({1, 1}, {11});
  const std::vector<std::int64_t> positions{0, 1, 2, 3};
  const Attended got = attended(layer, {.q = q,
                                        .k = k,
                                        .v = k,
                                        .weights = {.score = {ShawWeights{shaw}, ClippedBiasWeights{bias}}},
                                        .inputs = {.q_positions = positions},
                                        .stage = ScoreStage::biased});
  EXPECT_DOUBLE_EQ(got.scores.values[0], 18 + 11);
  EXPECT_DOUBLE_EQ(got.scores.values[1], 18 * (1 + std::log(2.0)) + 11);
  EXPECT_DOUBLE_EQ(got.scores.values[2], 18 * (1 + std::log(2.0)) + 11);
  EXPECT_DOUBLE_EQ(got.scores.values[3], 18 * (1 + std::log(3.0)) + 11);
}

// 15 at a scale of 1, capped at 1 afterwards; were the cap first, queries later on would pass 1.
TEST(ScaledQueries, AreCappedAfterwards) {
  LayerPlan layer = bare_layer();
  layer.soft_cap = SoftCap{.cap = 1.0};
  layer.query_scale = kSteps;
  const Tensor q = tensor_of({1, 1, 1}, {0.5});
  const Tensor k = tensor_of({1, 1, 1}, {1.0});
  const std::vector<std::int64_t> positions{3};
  const Attended got =
      attended(layer, {.q = q, .k = k, .v = k, .inputs = {.q_positions = positions}, .stage = ScoreStage::capped});
  EXPECT_DOUBLE_EQ(got.scores.values[0], std::tanh(0.5 * (1 + std::log(3.0))));
}

// Queries at 100, whichever their order and however the keys stand.
TEST(ScaledQueries, GoByThePosition) {
  const QueryScale scale = LogNScale{.seq_length = 10};  // log10(101)
  LayerPlan layer = bare_layer();
  layer.query_scale = scale;
  const Tensor one = tensor_of({1, 1, 1}, {1});
  const std::vector<std::int64_t> positions{100};
  const std::vector<std::int64_t> order{3};
  const Attended got = attended(layer, {.q = one,
                                        .k = one,
                                        .v = one,
                                        .inputs = {.q_positions = positions, .q_order = order},
                                        .stage = ScoreStage::content});
  EXPECT_NEAR(got.scores.values[0], 2.0043213737826426, 2 * kFewSteps);
}

// As Llama 4 and Ministral scale it: the query itself, before its product. A head of four channels that rotate.
TEST(ScaledQueries, EqualQueriesThatWereScaled) {
  constexpr std::int64_t kTokens = 9;
  Random random(2501);
  const Tensor q = random_tensor(random, {kTokens, 1, 4});
  const Tensor k = random_tensor(random, {kTokens, 1, 4});
  for (const QueryScale& scale :
       {kSteps, QueryScale{MinistralTemperature{.beta = 0.5, .original_max_position_embeddings = 3}},
        QueryScale{LogNScale{.seq_length = 4}}}) {
    LayerPlan layer = bare_layer(1, 4);
    layer.rotate.push_back({.heads = 1, .scheme = plain_rope(4)});
    Tensor scaled = q;
    for (std::int64_t c = 0; c < 4 * kTokens; ++c) {
      scaled.values[static_cast<std::size_t>(c)] *= query_scale(scale, c / 4);
    }
    const Tensor v = zeros({kTokens, 1, 1});
    const Attended wanted = attended(layer, {.q = scaled, .k = k, .v = v, .stage = ScoreStage::content});
    layer.query_scale = scale;
    const Attended got = attended(layer, {.q = q, .k = k, .v = v, .stage = ScoreStage::content});
    for (std::int64_t i = 0; i < kTokens; ++i) {
      for (std::int64_t j = 0; j < kTokens; ++j) {
        const double size = length_of(head_of(scaled, 0), i) * length_of(head_of(k, 0), j);
        // Both rotate the same angles; the query or the product is scaled.
        EXPECT_NEAR(got.score(0, i, j), wanted.score(0, i, j), same_score(size, 2 * 4 * std::sqrt(2.0) + 4 + 2))
            << i << " " << j;
      }
    }
  }
}

}  // namespace
}  // namespace posenc::test::query_scale_test
