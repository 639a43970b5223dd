// reference::attend_backward on numbers that a reader can check by hand, where formulas have no derivative, and what it
// refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "math/score/alibi.h"
#include "math/score/cope.h"
#include "math/score/fire.h"
#include "math/score/gates.h"
#include "math/score/kerple.h"
#include "math/score/soft_cap.h"
#include "posenc/named_weights.h"
#include "posenc/reference_backward.h"
#include "support/random_tensor.h"
#include "support/throws.h"

namespace posenc::test::attend_backward_test {
namespace {

using reference::AttendBackwardArgs;
using testing::DoubleEq;
using testing::Each;
using testing::ElementsAre;

// One head of one channel: scores are q k.
LayerPlan one_channel() { return {.heads = 1, .kv_heads = 1, .head_dim = 1, .value_dim = 1}; }

Tensor column(std::vector<double> values) {
  const auto rows = static_cast<std::int64_t>(values.size());
  return {std::move(values), {rows, 1, 1}};
}

// One query, which sees keys with scores 0 and ln 3: weights 1/4 and 3/4, of values 8 and 4.
struct TwoKeys {
  LayerPlan layer = one_channel();
  Tensor q = column({1.0});
  Tensor k = column({0.0, std::log(3.0)});
  Tensor v = column({8.0, 4.0});
  Tensor d_out = column({2.0});
  Tensor d_lse{{1.0}, {1, 1}};
  Tensor d_q = column({7.0});
  Tensor d_k = column({7.0, 7.0});
  Tensor d_v = column({7.0, 7.0});

  AttendBackwardArgs args() {
    return {
        .q = q, .k = k, .v = v, .d_out = d_out, .d_q = d_q.writable(), .d_k = d_k.writable(), .d_v = d_v.writable()};
  }
};

// out = 5, so dz = (1/4 * 2 * (8 - 5), 3/4 * 2 * (4 - 5)) = (3/2, -3/2).
TEST(AttendBackward, IsTheSoftmaxsDerivative) {
  TwoKeys two;
  EXPECT_TRUE(reference::attend_backward(two.layer, two.args()));
  EXPECT_THAT(two.d_v.values, ElementsAre(DoubleEq(0.5), DoubleEq(1.5)));
  EXPECT_THAT(two.d_k.values, ElementsAre(DoubleEq(1.5), DoubleEq(-1.5)));
  EXPECT_THAT(two.d_q.values, ElementsAre(DoubleEq(-1.5 * std::log(3.0))));
}

// The lse's derivative is the weights: (1/4, 3/4) more.
TEST(AttendBackward, AddsWhatTheLseGives) {
  TwoKeys two;
  AttendBackwardArgs args = two.args();
  args.d_lse = two.d_lse;
  EXPECT_TRUE(reference::attend_backward(two.layer, args));
  EXPECT_THAT(two.d_k.values, ElementsAre(DoubleEq(1.75), DoubleEq(-0.75)));
}

// A sink of ln 4, as much as both keys have: the weights are 1/8, 3/8 and 1/2, out = 5/2. The lse is without it.
TEST(AttendBackward, GivesTheSinkWhatItTakes) {
  TwoKeys two;
  two.layer.sinks = true;
  const Tensor sinks{{std::log(4.0)}, {1}};
  Tensor d_sinks{{7.0}, {1}};
  const NamedGradient learned[] = {{"sinks", d_sinks.writable()}};
  AttendBackwardArgs args = two.args();
  args.weights.sinks = sinks;
  args.d_weights = learned;
  EXPECT_TRUE(reference::attend_backward(two.layer, args));
  EXPECT_THAT(d_sinks.values, ElementsAre(DoubleEq(-0.5 * 2 * 2.5)));
  EXPECT_THAT(two.d_k.values, ElementsAre(DoubleEq(0.125 * 2 * 5.5), DoubleEq(0.375 * 2 * 1.5)));
  args.d_lse = two.d_lse;
  EXPECT_TRUE(reference::attend_backward(two.layer, args));
  EXPECT_THAT(d_sinks.values, ElementsAre(DoubleEq(-2.5)));
  EXPECT_THAT(two.d_k.values, ElementsAre(DoubleEq(0.125 * 2 * 5.5 + 0.25), DoubleEq(0.375 * 2 * 1.5 + 0.75)));
}

// One so large that exp of it overflows has all of the weight, and what it would give if it were larger is nothing.
TEST(AttendBackward, HasNumbersWhereTheSinkTakesAll) {
  TwoKeys two;
  two.layer.sinks = true;
  for (const double sink : {1e4, -1e4, -std::numeric_limits<double>::infinity()}) {
    const Tensor sinks{{sink}, {1}};
    Tensor d_sinks{{7.0}, {1}};
    const NamedGradient learned[] = {{"sinks", d_sinks.writable()}};
    AttendBackwardArgs args = two.args();
    args.weights.sinks = sinks;
    args.d_weights = learned;
    EXPECT_TRUE(reference::attend_backward(two.layer, args));
    EXPECT_THAT(d_sinks.values, ElementsAre(0.0)) << sink;
    EXPECT_EQ(two.d_v.values[0], sink > 0 ? 0.0 : 0.5);
  }
}

TEST(AttendBackward, GivesZeroWhereNothingIsSeen) {
  TwoKeys two;
  const std::vector<std::int64_t> before{-1};
  AttendBackwardArgs args = two.args();
  args.inputs.q_order = before;
  args.d_lse = two.d_lse;
  EXPECT_TRUE(reference::attend_backward(two.layer, args));
  EXPECT_THAT(two.d_q.values, Each(0.0));
  EXPECT_THAT(two.d_k.values, Each(0.0));
  EXPECT_THAT(two.d_v.values, Each(0.0));
}

TEST(AttendBackward, WritesNothingWhenItIsTold) {
  TwoKeys two;
  AttendBackwardArgs args = two.args();
  args.keep_going = [] { return false; };
  EXPECT_FALSE(reference::attend_backward(two.layer, args));
  EXPECT_THAT(two.d_q.values, Each(7.0));
  EXPECT_THAT(two.d_k.values, Each(7.0));
}

// d_k over k, d_v with gaps between its elements.
TEST(AttendBackward, WritesWhereverItIsTold) {
  TwoKeys two;
  AttendBackwardArgs args = two.args();
  args.d_k = two.k.writable();
  std::vector<double> apart(6, 7.0);
  args.d_v.data = apart.data();
  args.d_v.strides = {3, 1, 1, 0};
  args.d_q = {};
  EXPECT_TRUE(reference::attend_backward(two.layer, args));
  EXPECT_THAT(two.k.values, ElementsAre(DoubleEq(1.5), DoubleEq(-1.5)));
  EXPECT_THAT(apart, ElementsAre(DoubleEq(0.5), 7.0, 7.0, DoubleEq(1.5), 7.0, 7.0));
  EXPECT_THAT(two.d_q.values, Each(7.0));
}

TEST(AttendBackward, ReadsFloats) {
  TwoKeys two;
  const std::vector<float> d_out{2.0F};
  AttendBackwardArgs args = two.args();
  args.d_out = tensor(d_out.data(), {1, 1, 1});
  EXPECT_TRUE(reference::attend_backward(two.layer, args));
  EXPECT_THAT(two.d_v.values, ElementsAre(DoubleEq(0.5), DoubleEq(1.5)));
}

// A key whose bias is -inf is not seen, and what is infinite goes nowhere else.
TEST(AttendBackward, LeavesOutWhatABiasHides) {
  TwoKeys two;
  const Tensor bias{{0.0, -std::numeric_limits<double>::infinity()}, {1, 2}};
  Tensor d_bias{{7.0, 7.0}, {1, 2}};
  AttendBackwardArgs args = two.args();
  args.inputs.bias = bias;
  args.d_bias = d_bias.writable();
  args.d_lse = two.d_lse;
  EXPECT_TRUE(reference::attend_backward(two.layer, args));
  EXPECT_THAT(d_bias.values, ElementsAre(1.0, 0.0));  // of the lse alone
  EXPECT_THAT(two.d_v.values, ElementsAre(2.0, 0.0));
}

// ---- where there is no derivative ----

TEST(Derivatives, OfFireStandsBetweenBothSidesAtTheThreshold) {
  const auto by_threshold = [](double i) { return math::fire_derivatives(0.5, 8.0, 3.0, i).threshold; };
  EXPECT_EQ(by_threshold(9.0), 0.0);
  EXPECT_LT(by_threshold(7.0), 0.0);
  EXPECT_DOUBLE_EQ(by_threshold(8.0), by_threshold(7.0) / 2);
}

TEST(Derivatives, OfKerpleAreZeroAtTheQuery) {
  const math::KerpleDerivatives power = math::kerple_derivatives({.form = Kerple::Form::power}, 0.5, 0.5, 0.0);
  EXPECT_EQ(power.r1, 0.0);
  EXPECT_EQ(power.r2, 0.0);
  EXPECT_EQ(math::kerple_derivatives({}, 0.5, 0.5, 0.0).r2, 0.0);
  // -r1 |d|^r2 = -0.5 * 4^0.5: by r2 it is ln 4 times itself.
  EXPECT_DOUBLE_EQ(math::kerple_derivatives({.form = Kerple::Form::power}, 0.5, 0.5, -4.0).r2, -std::log(4.0));
}

// Between rows, on one, and beyond the last.
TEST(Derivatives, OfCopeAreZeroOnARow) {
  const math::CopePlace between = math::cope_place(1.25, 4);
  EXPECT_EQ(between.below, 1);
  EXPECT_EQ(between.above, 2);
  EXPECT_EQ(between.share, 0.25);
  for (const double p : {2.0, 3.0, 9.5}) {
    const math::CopePlace on = math::cope_place(p, 4);
    EXPECT_EQ(on.below, on.above) << p;
    EXPECT_EQ(on.share, 0.0) << p;
  }
}

// What is far from 0 keeps its digits: s(-40) is e^-40, and so is its derivative on either side.
TEST(Derivatives, OfGatesAndCapsKeepTheirDigits) {
  EXPECT_DOUBLE_EQ(math::logistic_derivative(40.0), std::exp(-40.0));
  EXPECT_DOUBLE_EQ(math::logistic_derivative(-40.0), std::exp(-40.0));
  EXPECT_EQ(math::logistic_derivative(-1e4), 0.0);
  EXPECT_EQ(math::silu_derivative(0.0), 0.5);
  EXPECT_EQ(math::silu_derivative(1e4), 1.0);
  EXPECT_EQ(math::silu_derivative(-1e4), 0.0);
  EXPECT_EQ(math::soft_cap_derivative(30.0, 0.0), 1.0);
  EXPECT_EQ(math::soft_cap_derivative(30.0, math::soft_capped(30.0, 1e9)), 0.0);
}

TEST(Derivatives, OfAColumnOfBfloat16IsTheRoundedPlace) {
  const Alibi column{.heads = 1, .form = AlibiForm::column_bfloat16};
  EXPECT_EQ(math::alibi_slope_derivative(column, 0.0, 257.0), 256.0);
  EXPECT_EQ(math::alibi_slope_derivative({.heads = 1}, 5.0, 2.0), -3.0);
  EXPECT_EQ(math::alibi_slope_derivative({.heads = 1, .symmetric = true}, 2.0, 5.0), -3.0);
}

// ---- names ----

Rope rope_of_two_pairs() { return {.pairing = Pairing::half, .head_dim = 4, .dim = 4}; }

TEST(GradientNames, AreAllThatIsLearned) {
  LayerPlan layer{.heads = 2, .kv_heads = 1, .head_dim = 4, .value_dim = 4, .sinks = true};
  layer.rotate = {{.scheme = rope_of_two_pairs()}, {.role = RotateRole::indexer, .scheme = rope_of_two_pairs()}};
  layer.score = {Fire{}, Alibi{.heads = 2}, ForgetGate{}};
  layer.value = ShawValues{.left = 1, .right = 1};
  const Tensor any = zeros({2});
  const LayerWeights weights{
      .score = {FireWeights{.hidden = {any, any}, .out = {any, {}}}, {}, {}}, .value = {any}, .sinks = any};
  EXPECT_THAT(gradient_names(layer, weights),
              ElementsAre("0.c", "0.threshold", "0.hidden.weight", "0.hidden.bias", "0.out.weight", "1.slopes",
                          "value_table", "sinks", "inv_freq"));
  layer.rotate.back().role = RotateRole::main;
  layer.score = {Alibi{.heads = 2}};
  EXPECT_THAT(gradient_names(layer, {}), ElementsAre("slopes", "0.inv_freq", "1.inv_freq"));
}

TEST(GradientNames, HaveTheShapesOfTheirTensors) {
  LayerPlan layer = one_channel();
  layer.rotate = {{.scheme = rope_of_two_pairs()}};
  layer.score = {Fire{}};
  const Tensor hidden = zeros({3, 1});
  const LayerWeights weights{.score = {FireWeights{.hidden = {hidden, {}}}}};
  EXPECT_THAT(gradient_shape(layer, weights, "hidden.weight"), ElementsAre(3, 1));
  EXPECT_THAT(gradient_shape(layer, weights, "threshold"), ElementsAre(1));
  EXPECT_THAT(gradient_shape(layer, weights, "inv_freq"), ElementsAre(2));
  EXPECT_ERROR(
      gradient_shape(layer, weights, "out.weight"),
      "[gradient_shape] name must be of what the layer has learned, c, threshold, hidden.weight, inv_freq, but "
      "is \"out.weight\"");
}

// ---- refusals ----

TEST(AttendBackward, RefusesWhatDoesNotFit) {
  TwoKeys two;
  const auto refused = [&](const auto& change) {
    AttendBackwardArgs args = two.args();
    change(args);
    (void)reference::attend_backward(two.layer, args);
  };
  Tensor other = zeros({2, 1, 2});
  std::vector<float> floats(2);
  EXPECT_ERROR(refused([&](auto& args) { args.d_out = {}; }), "[attend_backward] d_out must have rank 3 or 4 but is 0");
  EXPECT_ERROR(refused([&](auto& args) { args.d_out = other; }),
               "[attend_backward] d_out must have shape [2, 1, 1] but is [2, 1, 2]");
  EXPECT_ERROR(refused([&](auto& args) { args.d_out.data = nullptr; }),
               "[attend_backward] d_out.data must point to the elements but is null");
  EXPECT_ERROR(refused([&](auto& args) { args.d_out.dtype = static_cast<DType>(9); }),
               "[attend_backward] d_out.dtype must be f32, f16, bf16 or f64 but is 9");
  EXPECT_ERROR(refused([&](auto& args) { args.d_lse = other; }),
               "[attend_backward] d_lse must have shape [1, 1] but is [2, 1, 2]");
  EXPECT_ERROR(refused([&](auto& args) { args.k = other; }),
               "[attend_backward] k must have shape [2, 1, 1] but is [2, 1, 2]");
  EXPECT_ERROR(refused([&](auto& args) { args.d_k = other.writable(); }),
               "[attend_backward] d_k must have shape [2, 1, 1] but is [2, 1, 2]");
  EXPECT_ERROR(refused([&](auto& args) { args.d_k.rank = 9; }),
               "[attend_backward] d_k must have a rank of at most 4 but is 9");
  EXPECT_ERROR(refused([&](auto& args) {
                 args.d_k = tensor(floats.data(), {2, 1, 1});
               }),
               "[attend_backward] d_k.dtype must be f64 but is f32");
  EXPECT_ERROR(refused([&](auto& args) { args.d_v.data = nullptr; }),
               "[attend_backward] d_v.data must point to the elements but is null");
  EXPECT_ERROR(refused([&](auto& args) { args.d_bias = other.writable(); }),
               "[attend_backward] d_bias must be omitted, since the call has no such tensor but is given");
  const NamedGradient of_nothing[] = {{"table", other.writable()}};
  EXPECT_ERROR(
      refused([&](auto& args) { args.d_weights = of_nothing; }),
      "[attend_backward] d_weights[\"table\"] must be omitted for a layer that has learned nothing but is given");
  EXPECT_THAT(two.d_q.values, Each(7.0));
}

TEST(AttendBackward, RefusesNamesOfNothing) {
  TwoKeys two;
  two.layer.sinks = true;
  const Tensor sinks{{0.0}, {1}};
  Tensor d_sinks{{7.0}, {1}};
  Tensor wide = zeros({2});
  const auto refused = [&](const std::vector<NamedGradient>& learned) {
    AttendBackwardArgs args = two.args();
    args.weights.sinks = sinks;
    args.d_weights = learned;
    (void)reference::attend_backward(two.layer, args);
  };
  EXPECT_ERROR(refused({{"sink", d_sinks.writable()}}),
               "[attend_backward] d_weights[\"sink\"] must be of what the layer has learned, sinks, but is \"sink\"");
  EXPECT_ERROR(refused({{"sinks", d_sinks.writable()}, {"sinks", d_sinks.writable()}}),
               "[attend_backward] d_weights[\"sinks\"] must be given once but is given again");
  EXPECT_ERROR(refused({{"sinks", wide.writable()}}),
               "[attend_backward] d_weights[\"sinks\"] must have shape [1] but is [2]");
  EXPECT_THAT(d_sinks.values, Each(7.0));
}

}  // namespace
}  // namespace posenc::test::attend_backward_test
