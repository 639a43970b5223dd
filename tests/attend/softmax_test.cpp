// What happens to a score after its terms: caps, sinks, the softmax; and the stages in which scores can be asked for.
#include <gtest/gtest.h>

#include <cmath>

#include "attend/attending.h"

namespace posenc::test::softmax_test {
namespace {

// One head of one channel and a query of 1: scores are the keys.
Attended of_keys(const LayerPlan& layer, std::vector<double> keys, const LayerWeights& weights = {},
                 const LayerInputs& inputs = {}, ScoreStage stage = ScoreStage::weights) {
  const Tensor q = tensor_of({1, 1, 1}, {1.0});
  const std::int64_t count = std::ssize(keys);
  const Tensor k = tensor_of({count, 1, 1}, std::move(keys));
  Tensor v = zeros({count, 1, 1});
  for (std::size_t j = 0; j < v.values.size(); ++j) v.values[j] = 6.0 * static_cast<double>(j + 1);
  return attended(layer, {.q = q, .k = k, .v = v, .weights = weights, .inputs = inputs, .stage = stage});
}

// e^score is 1 and 2, the sink's 3: weights 1/6 and 2/6, values 6 and 12.
TEST(Softmax, LosesTheSinksShare) {
  LayerPlan layer = bare_layer();
  layer.sinks = true;
  const Tensor sinks = tensor_of({1}, {std::log(3.0)});
  const Attended got = of_keys(layer, {0.0, std::log(2.0)}, {.sinks = sinks});
  EXPECT_DOUBLE_EQ(got.scores.values[0], 1.0 / 6);
  EXPECT_DOUBLE_EQ(got.scores.values[1], 2.0 / 6);
  EXPECT_DOUBLE_EQ(got.out.values[0], 5.0);
  EXPECT_DOUBLE_EQ(got.lse.values[0], std::log(3.0));  // of the keys alone
}

TEST(Softmax, HasASinkForEachHead) {
  LayerPlan layer = bare_layer(2);
  layer.sinks = true;
  const Tensor sinks = tensor_of({2}, {0.0, std::log(3.0)});
  const Tensor zero = zeros({1, 2, 1});
  const Tensor v = tensor_of({1, 2, 1}, {8.0, 8.0});
  const Attended got = attended(layer, {.q = zero, .k = zero, .v = v, .weights = {.sinks = sinks}});
  EXPECT_DOUBLE_EQ(got.out.values[0], 4.0);  // 1 / (1 + 1)
  EXPECT_DOUBLE_EQ(got.out.values[1], 2.0);  // 1 / (1 + 3)
}

// e^-1000 is 0 in double, and yet the scores have a sum.
TEST(Softmax, KnowsTheSumOfScoresFarBelowTheSink) {
  LayerPlan layer = bare_layer();
  layer.sinks = true;
  const Tensor sinks = tensor_of({1}, {1000.0});
  const Attended got = of_keys(layer, {0.0, 0.0}, {.sinks = sinks});
  EXPECT_EQ(got.out.values[0], 0.0);
  EXPECT_DOUBLE_EQ(got.lse.values[0], std::log(2.0));
}

TEST(Softmax, DoesNotOverflow) {
  const Attended got = of_keys(bare_layer(), {1000.0, 1000.0 + std::log(2.0)});
  EXPECT_NEAR(got.out.values[0], (6.0 + 2 * 12.0) / 3, 10.0 * 0x1p-43);  // ln 2 beside 1000 is off by 2^-44
  EXPECT_DOUBLE_EQ(got.lse.values[0], 1000.0 + std::log(3.0));
}

// x = 1, bias 2, cap 2. After the bias: 2 tanh(3/2) = 1.8102965072897328; before it: 2 tanh(1/2) + 2 =
// 2.9242343145200195.
TEST(SoftCap, ComesAfterTheBiasOrBeforeIt) {
  const Tensor bias = tensor_of({1, 1}, {2.0});
  const auto at = [&](SoftCap::Order order, ScoreStage stage) {
    LayerPlan layer = bare_layer();
    layer.soft_cap = SoftCap{.cap = 2.0, .order = order};
    return of_keys(layer, {1.0}, {}, {.bias = bias}, stage).scores.values[0];
  };
  using enum SoftCap::Order;
  EXPECT_DOUBLE_EQ(at(after_bias, ScoreStage::content), 1.0);
  EXPECT_DOUBLE_EQ(at(after_bias, ScoreStage::biased), 3.0);
  EXPECT_DOUBLE_EQ(at(after_bias, ScoreStage::capped), 1.8102965072897328);
  EXPECT_DOUBLE_EQ(at(before_bias, ScoreStage::content), 1.0);
  EXPECT_DOUBLE_EQ(at(before_bias, ScoreStage::capped), 0.9242343145200195);
  EXPECT_DOUBLE_EQ(at(before_bias, ScoreStage::biased), 2.9242343145200195);
}

// The softmax takes what the cap leaves: ln of its weights' ratio is the difference of the scores.
TEST(SoftCap, ReachesTheWeights) {
  LayerPlan layer = bare_layer();
  layer.soft_cap = SoftCap{.cap = 2.0};
  const Attended got = of_keys(layer, {0.0, 3.0});
  EXPECT_DOUBLE_EQ(std::log(got.scores.values[1] / got.scores.values[0]), 1.8102965072897328);  // 2 tanh(3/2)
}

TEST(Scores, ShowWhatIsNotSeenFromTheBiasOn) {
  LayerPlan layer = bare_layer();
  layer.mask.kind = MaskKind::causal;
  layer.soft_cap = SoftCap{.cap = 2.0};
  const std::vector<std::int64_t> first{0};
  const LayerInputs inputs{.q_order = first};
  const auto second = [&](ScoreStage stage) { return of_keys(layer, {1.0, 3.0}, {}, inputs, stage).scores.values[1]; };
  EXPECT_EQ(second(ScoreStage::content), 3.0);
  EXPECT_EQ(second(ScoreStage::biased), -HUGE_VAL);
  EXPECT_EQ(second(ScoreStage::capped), -HUGE_VAL);
  EXPECT_EQ(second(ScoreStage::weights), 0.0);
  layer.soft_cap->order = SoftCap::Order::before_bias;
  EXPECT_DOUBLE_EQ(second(ScoreStage::capped), 1.8102965072897328);
  EXPECT_EQ(second(ScoreStage::biased), -HUGE_VAL);
}

TEST(Scores, HaveNothingToSayOfOtherPackedSequences) {
  const std::vector<std::int32_t> ends{0, 1, 2};
  const Tensor x = tensor_of({2, 1, 1}, {1.0, 2.0});
  const LayerInputs inputs{.cu_seqlens_q = ends, .cu_seqlens_k = ends};
  const auto scores = [&](ScoreStage stage) {
    return attended(bare_layer(), {.q = x, .k = x, .v = x, .inputs = inputs, .stage = stage}).scores.values;
  };
  EXPECT_EQ(scores(ScoreStage::content), (std::vector<double>{1.0, -HUGE_VAL, -HUGE_VAL, 4.0}));
  EXPECT_EQ(scores(ScoreStage::weights), (std::vector<double>{1.0, 0.0, 0.0, 1.0}));
}

// A bias of its own for each batch, head, query or key, by the axes that it has.
TEST(Scores, TakeABiasOfFewerAxes) {
  const LayerPlan layer = bare_layer(2);
  const Tensor x = zeros({2, 2, 2, 1});  // [batch, heads, tokens, channels]
  const auto at = [&](const Tensor& bias, std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
    return attended(layer, {.q = x, .k = x, .v = x, .inputs = {.bias = bias}, .stage = ScoreStage::biased})
        .scores.values[((b * 2 + h) * 2 + i) * 2 + j];
  };
  const Tensor by_key = tensor_of({1, 2}, {5.0, 7.0});
  EXPECT_EQ(at(by_key, 1, 1, 0, 1), 7.0);
  const Tensor by_query = tensor_of({2, 1}, {5.0, 7.0});
  EXPECT_EQ(at(by_query, 1, 0, 1, 0), 7.0);
  const Tensor by_head = tensor_of({2, 1, 1}, {5.0, 7.0});
  EXPECT_EQ(at(by_head, 0, 1, 0, 0), 7.0);
  const Tensor by_batch = tensor_of({2, 1, 1, 2}, {1.0, 2.0, 3.0, 4.0});
  EXPECT_EQ(at(by_batch, 1, 0, 0, 1), 4.0);
}

TEST(Scores, ShareKeysAmongHeads) {
  LayerPlan layer = bare_layer(4);
  layer.kv_heads = 2;
  const Tensor q = tensor_of({1, 4, 1}, {1.0, 1.0, 1.0, 1.0});
  const Tensor k = tensor_of({1, 2, 1}, {3.0, 5.0});
  const Attended got = attended(layer, {.q = q, .k = k, .v = k, .stage = ScoreStage::content});
  EXPECT_EQ(got.scores.values, (std::vector<double>{3.0, 3.0, 5.0, 5.0}));
  EXPECT_EQ(got.out.values, (std::vector<double>{3.0, 3.0, 5.0, 5.0}));
}

}  // namespace
}  // namespace posenc::test::softmax_test
