// Biases by the distance: clipped, KERPLE, FIRE, Sandwich, perceptrons.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attend/attending.h"
#include "posenc/input.h"
#include "posenc/scores.h"
#include "support/tolerances.h"

namespace posenc::test::distance_bias_test {
namespace {

// Distances i - j of three queries and keys, a row a query.
constexpr double kDistances[] = {0, -1, -2, 1, 0, -1, 2, 1, 0};

// Past 1, future 0: rows for the distances 0 and 1.
TEST(ClippedBias, HasRowsFromTheFutureOn) {
  const Tensor table = tensor_of({2, 2}, {5, 50, 7, 70});
  const Attended got = biases(layer_with(ClippedBias{.past = 1}, 2), 3, 3, {.score = {ClippedBiasWeights{table}}});
  const std::vector<double> wanted{5, 5, 5, 7, 5, 5, 7, 7, 5};
  for (std::size_t cell = 0; cell < 9; ++cell) {
    EXPECT_EQ(got.scores.values[cell], wanted[cell]) << cell;
    EXPECT_EQ(got.scores.values[9 + cell], 10 * wanted[cell]) << cell;
  }
  // Past 0, future 1: rows for -1 and 0.
  const Attended other = biases(layer_with(ClippedBias{.future = 1}, 2), 3, 3, {.score = {ClippedBiasWeights{table}}});
  EXPECT_EQ(other.score(0, 0, 2), 5);
  EXPECT_EQ(other.score(0, 2, 2), 7);
  EXPECT_EQ(other.score(1, 2, 0), 70);
}

// -2 ln(1 + |d|/2): 0, -2 ln 1.5, -2 ln 2. Second head -ln(1 + 3 |d|).
TEST(Kerple, FallsLikeALogarithm) {
  const Tensor r1 = tensor_of({2}, {2.0, 1.0});
  const Tensor r2 = tensor_of({2}, {0.5, 3.0});
  const Attended got = biases(layer_with(Kerple{}, 2), 3, 3, {.score = {KerpleWeights{r1, r2}}});
  const double first[] = {0, -2 * std::log(1.5), -2 * std::log(2.0)};
  const double second[] = {0, -std::log(4.0), -std::log(7.0)};
  for (std::size_t cell = 0; cell < 9; ++cell) {
    const auto distance = static_cast<std::size_t>(std::abs(kDistances[cell]));
    EXPECT_DOUBLE_EQ(got.scores.values[cell], first[distance]) << cell;
    EXPECT_DOUBLE_EQ(got.scores.values[9 + cell], second[distance]) << cell;
  }
}

// -3 sqrt |d|.
TEST(Kerple, FallsLikeAPower) {
  const Tensor r1 = tensor_of({1}, {3.0});
  const Tensor r2 = tensor_of({1}, {0.5});
  const Attended got =
      biases(layer_with(Kerple{.form = Kerple::Form::power}), 3, 3, {.score = {KerpleWeights{r1, r2}}});
  for (std::size_t cell = 0; cell < 9; ++cell) {
    EXPECT_DOUBLE_EQ(got.scores.values[cell], -3 * std::sqrt(std::abs(kDistances[cell]))) << cell;
  }
}

// c = 1, L = 3: up to i = 3 the denominator is ln 4 = 2 ln 2. |d| = 1: ln 2 / ln 4 = 1/2; 3: 1. At i = 7: ln 8.
TEST(Fire, AsksAboutAShareOfTheLogarithm) {
  EXPECT_DOUBLE_EQ(fire_input(1, 3, 0, 0), 0);
  EXPECT_DOUBLE_EQ(fire_input(1, 3, 1, 2), 0.5);
  EXPECT_DOUBLE_EQ(fire_input(1, 3, -1, 2), 0.5);
  EXPECT_DOUBLE_EQ(fire_input(1, 3, 3, 3), 1);
  EXPECT_DOUBLE_EQ(fire_input(1, 3, 1, 7), 1.0 / 3);
  EXPECT_DOUBLE_EQ(fire_input(1, 3, 7, 7), 1);
  EXPECT_DOUBLE_EQ(fire_input(2, 3, 3, 0), 1);
}

// Hidden: relu(2 x - 0.5) and relu(-x + 0.25). Heads: their sum + 1, and 3 times the first.
// x = 0: 0 and 0.25: 1.25, 0. x = 1/2: 0.5 and 0: 1.5, 1.5. x = 1: 1.5 and 0: 2.5, 4.5.
TEST(Fire, PutsAPerceptronBehindIt) {
  const Tensor hidden = tensor_of({2, 1}, {2, -1});
  const Tensor hidden_bias = tensor_of({2}, {-0.5, 0.25});
  const Tensor out = tensor_of({2, 2}, {1, 1, 3, 0});
  const Tensor out_bias = tensor_of({2}, {1, 0});
  const FireWeights weights{.c = 1, .threshold = 3, .hidden = {hidden, hidden_bias}, .out = {out, out_bias}};
  const std::vector<std::int64_t> positions{0, 1, 3};
  const Attended got =
      biases(layer_with(Fire{}, 2), 3, 3, {.score = {weights}}, {.q_positions = positions, .k_positions = positions});
  EXPECT_DOUBLE_EQ(got.score(0, 0, 0), 1.25);
  EXPECT_DOUBLE_EQ(got.score(1, 0, 0), 0);
  EXPECT_DOUBLE_EQ(got.score(0, 1, 0), 1.5);
  EXPECT_DOUBLE_EQ(got.score(1, 1, 0), 1.5);
  EXPECT_DOUBLE_EQ(got.score(0, 2, 0), 2.5);
  EXPECT_DOUBLE_EQ(got.score(1, 2, 0), 4.5);
}

// 4 channels: cos d + cos(d/100), over 8 (h + 1) / 2 for each of 2 heads.
TEST(Sandwich, SumsCosines) {
  const Attended got = biases(layer_with(Sandwich{.heads = 2, .channels = 4}, 2), 3, 3);
  for (std::size_t cell = 0; cell < 9; ++cell) {
    const double sum = std::cos(kDistances[cell]) + std::cos(kDistances[cell] / 100);
    EXPECT_NEAR(got.scores.values[cell], sum / 4, 4 * kDoubleRounding) << cell;
    EXPECT_NEAR(got.scores.values[9 + cell], sum / 8, 4 * kDoubleRounding) << cell;
  }
}

// The program in the paper's appendix multiplies the rows of two tables of sines.
TEST(Sandwich, IsTheProductOfTwoSinusoids) {
  const Sandwich scheme{.heads = 12};
  for (const double distance : {0.0, 1.0, 17.0, 500.0}) {
    const std::vector<double> a = input_row(SinusoidalInput{}, scheme.channels, 600);
    const std::vector<double> b = input_row(SinusoidalInput{}, scheme.channels, 600 - distance);
    double product = 0;
    for (std::size_t c = 0; c < a.size(); ++c) product += a[c] * b[c];
    for (const std::int64_t head : {0, 5, 11}) {
      const double ratio = 8.0 * static_cast<double>(head + 1) / 12;
      EXPECT_NEAR(sandwich_bias(scheme, head, distance), product / ratio, sinusoid_product_bound(64, 600) / ratio);
    }
  }
}

// One hidden layer, SiLU, two heads: hidden d and 2 d + 1; heads their sum, and the first less 3.
TEST(MlpBias, IsAPerceptronOfTheDistance) {
  const Tensor first = tensor_of({2, 1}, {1, 2});
  const Tensor first_bias = tensor_of({2}, {0, 1});
  const Tensor last = tensor_of({2, 2}, {1, 1, 1, 0});
  const Tensor last_bias = tensor_of({2}, {0, -3});
  const MlpBiasWeights weights{{{first, first_bias}, {last, last_bias}}};
  const auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  for (const bool logarithmic : {false, true}) {
    const Attended got = biases(layer_with(MlpBias{.logarithmic = logarithmic}, 2), 3, 3, {.score = {weights}});
    const double asked[] = {0, 1, 2, -1, -2};
    const double logs[] = {0, std::log(2.0), std::log(3.0), -std::log(2.0), -std::log(3.0)};
    for (std::size_t cell = 0; cell < 9; ++cell) {
      const std::size_t which = kDistances[cell] < 0 ? static_cast<std::size_t>(2 - kDistances[cell])
                                                     : static_cast<std::size_t>(kDistances[cell]);
      const double x = logarithmic ? logs[which] : asked[which];
      EXPECT_DOUBLE_EQ(got.scores.values[cell], silu(x) + silu(2 * x + 1)) << cell;
      EXPECT_DOUBLE_EQ(got.scores.values[9 + cell], silu(x) - 3) << cell;
    }
  }
}

// A perceptron of one layer is a straight line.
TEST(MlpBias, MayHaveOneLayer) {
  const Tensor only = tensor_of({1, 1}, {-0.5});
  const Attended got = biases(layer_with(MlpBias{}), 3, 3, {.score = {MlpBiasWeights{{{.weight = only}}}}});
  for (std::size_t cell = 0; cell < 9; ++cell) EXPECT_EQ(got.scores.values[cell], -0.5 * kDistances[cell]) << cell;
}

// Each as it is alone, with the bias that a call brings; numbers that are whole or halves, so that their sum is exact.
TEST(ScoreTerms, AreAdded) {
  const T5Bias t5{.buckets = 4, .max_distance = 8};
  const ClippedBias clipped{.past = 1, .future = 1};
  const Alibi alibi{.heads = 2, .max_bias = 2.0};  // slopes 1/2 and 1/4
  const Tensor of_t5 = tensor_of({4, 2}, {1, 20, 3, 40, 5, 60, 7, 80});
  const Tensor of_clipped = tensor_of({3, 2}, {100, 200, 300, 400, 500, 600});
  const Tensor given = tensor_of({1, 3}, {1000, 2000, 3000});
  LayerPlan layer = layer_with(alibi, 2);
  layer.score.emplace_back(t5);
  layer.score.emplace_back(clipped);
  const Attended got =
      biases(layer, 3, 3, {.score = {{}, T5Weights{of_t5}, ClippedBiasWeights{of_clipped}}}, {.bias = given});
  const Attended first = biases(layer_with(alibi, 2), 3, 3);
  const Attended second = biases(layer_with(t5, 2), 3, 3, {.score = {T5Weights{of_t5}}});
  const Attended third = biases(layer_with(clipped, 2), 3, 3, {.score = {ClippedBiasWeights{of_clipped}}});
  for (std::size_t cell = 0; cell < 18; ++cell) {
    EXPECT_EQ(got.scores.values[cell], first.scores.values[cell] + second.scores.values[cell] +
                                           third.scores.values[cell] + given.values[cell % 3])
        << cell;
  }
  // Head 1, the last query and the first key: -(2 / 4), the third bucket, the past row, the key's own.
  EXPECT_EQ(got.score(1, 2, 0), -0.5 + 60 + 600 + 1000);
}

}  // namespace
}  // namespace posenc::test::distance_bias_test
