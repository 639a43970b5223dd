// Forget gates, arXiv 2503.02130: sums of ln f, by hand and as differences of a running sum.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "attend/attending.h"

namespace posenc::test::forget_gate_test {
namespace {

// Gates of tokens 0 to 3: 1, 2, 4, 8 forgotten. What lies between key and query, and the query's own; not the key's.
TEST(ForgetGate, CountsTheQuerysGateAndNotTheKeys) {
  const Tensor gates = tensor_of({4, 1}, {-1, -2, -4, -8});
  const Attended got = biases(layer_with(ForgetGate{}), 4, 4, {}, {.log_forget = gates});
  EXPECT_EQ(got.score(0, 3, 3), 0);
  EXPECT_EQ(got.score(0, 3, 2), -8);
  EXPECT_EQ(got.score(0, 3, 1), -12);
  EXPECT_EQ(got.score(0, 3, 0), -14);
  EXPECT_EQ(got.score(0, 1, 0), -2);
  EXPECT_EQ(got.score(0, 0, 3), 0);  // a key in the future
}

// forgetting_attention: c = cumsum(log_fgate) of each head, bias c_i - c_j. Queries behind cached keys; a batch.
TEST(ForgetGate, IsADifferenceOfRunningSums) {
  constexpr std::int64_t kBatch = 2;
  constexpr std::int64_t kHeads = 3;
  constexpr std::int64_t kQueries = 4;
  constexpr std::int64_t kKeys = 6;
  Random random(2503);
  const Tensor gates = whole_tensor(random, {kBatch * kKeys, kHeads}, 9);
  const auto gate = [&](std::int64_t b, std::int64_t h, std::int64_t t) {
    return gates.values[static_cast<std::size_t>((b * kKeys + t) * kHeads + h)];
  };
  LayerPlan layer = layer_with(ForgetGate{}, kHeads);
  layer.kv_heads = 1;  // gates belong to heads of queries
  layer.softmax_scale = 0.5;
  const Tensor q = zeros({kBatch, kHeads, kQueries, 1});
  const Tensor k = zeros({kBatch, 1, kKeys, 1});
  const Attended got =
      attended(layer, {.q = q, .k = k, .v = k, .inputs = {.log_forget = gates}, .stage = ScoreStage::biased});
  auto score = got.scores.values.begin();
  for (std::int64_t b = 0; b < kBatch; ++b) {
    for (std::int64_t h = 0; h < kHeads; ++h) {
      std::vector<double> c;
      for (std::int64_t t = 0; t < kKeys; ++t) c.push_back(gate(b, h, t) + (c.empty() ? 0 : c.back()));
      for (std::int64_t i = kKeys - kQueries; i < kKeys; ++i) {
        for (std::int64_t j = 0; j < kKeys; ++j, ++score) {
          if (j <= i) {
            EXPECT_EQ(*score, c[static_cast<std::size_t>(i)] - c[static_cast<std::size_t>(j)]) << b << h << i << j;
          }
        }
      }
    }
  }
}

// ln f = -1/4 for every token: ALiBi with that slope. Positions do not count, the order does.
TEST(ForgetGate, IsAlibiForConstantGates) {
  Tensor gates = zeros({5, 1});
  for (double& gate : gates.values) gate = -0.25;
  const std::vector<std::int64_t> positions{90, 7, 7, 1000, -4};
  const Attended got = biases(layer_with(ForgetGate{}), 5, 5, {},
                              {.q_positions = positions, .k_positions = positions, .log_forget = gates});
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) EXPECT_EQ(got.score(0, i, j), -0.25 * static_cast<double>(i - j));
  }
}

}  // namespace
}  // namespace posenc::test::forget_gate_test
