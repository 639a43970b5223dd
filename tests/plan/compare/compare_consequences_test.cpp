// What follows from a difference, with every number worked out here again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "posenc/compare.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::test::compare_consequences_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kHeadDim = 8;

Rope plain_rope() {
  Rope rope{.pairing = Pairing::half, .scaling = {}, .axes = {}};
  rope.head_dim = rope.dim = kHeadDim;
  return rope;
}

Plan model(const Rope& rope = plain_rope(), std::int64_t layers = 4) {
  Plan plan;
  plan.known = true;
  plan.trained_length = 4096;
  plan.source = {SourceKind::config_json, "config.json"};
  Stack& stack = plan.stacks.emplace_back();
  stack.name = "decoder";
  for (std::int64_t l = 0; l < layers; ++l) {
    LayerPlan& layer = stack.layers.emplace_back();
    layer.index = l;
    layer.heads = 4;
    layer.kv_heads = 2;
    layer.head_dim = layer.value_dim = kHeadDim;
    layer.softmax_scale = 0.25;
    layer.rotate.push_back({RotateRole::main, 4, rope});
  }
  return plan;
}

Rope with_base(double base) {
  Rope rope = plain_rope();
  rope.base = base;
  return rope;
}

LayerPlan& layer(Plan& plan, std::size_t at) { return plan.stacks[0].layers[at]; }

// ---- cached keys ----

struct Keys {
  KeyUse use;
  std::vector<KeyReason> because;
};
Keys keys(const Plan& a, const Plan& b, double tolerance = 1e-3) {
  const Comparison found = compare(a, b, {.tolerance = tolerance});
  EXPECT_EQ(found.cached_keys.size(), 1U) << describe(found);
  if (found.cached_keys.empty()) return {};
  return {found.cached_keys[0].use, found.cached_keys[0].because};
}

template <typename F>
Plan changed(F&& change) {
  Plan plan = model();
  for (LayerPlan& layer : plan.stacks[0].layers) change(layer);
  return plan;
}

TEST(CompareKeys, serve_as_they_are_when_nothing_that_makes_them_differs) {
  const Plan other = changed([](LayerPlan& l) {
    l.heads = 8;
    l.softmax_scale = 1;
    l.mask.window = Window{7, 0};
    l.sinks = true;
    l.score.emplace_back(Alibi{4});
  });
  const Keys same = keys(model(), other);
  EXPECT_EQ(same.use, KeyUse::as_they_are);
  EXPECT_THAT(same.because, IsEmpty());
}

TEST(CompareKeys, do_not_serve_when_their_shape_or_norm_differs) {
  const auto because = [](auto change) {
    const Keys found = keys(model(), changed(change));
    EXPECT_EQ(found.use, KeyUse::not_at_all);
    return found.because;
  };
  EXPECT_THAT(because([](LayerPlan& l) { l.kv_heads = 4; }), ElementsAre(KeyReason::kv_heads));
  EXPECT_THAT(because([](LayerPlan& l) { l.head_dim = 16; }), ElementsAre(KeyReason::head_dim));
  EXPECT_THAT(because([](LayerPlan& l) { l.value_dim = 16; }), ElementsAre(KeyReason::values));
  EXPECT_THAT(because([](LayerPlan& l) { l.value = RotatedValues{}; }), ElementsAre(KeyReason::values));
  EXPECT_THAT(because([](LayerPlan& l) { l.qk_norm = QkNorm{}; }), ElementsAre(KeyReason::qk_norm));
  EXPECT_THAT(because([](LayerPlan& l) { l.rotate.clear(); }), ElementsAre(KeyReason::rotation));
  EXPECT_THAT(because([](LayerPlan& l) { l.regions = SelfExtend{4, 64}; }), ElementsAre(KeyReason::rotation));
  EXPECT_THAT(because([](LayerPlan& l) { l.kv_from = 0; }), ElementsAre(KeyReason::kv_from));
  EXPECT_THAT(because([](LayerPlan& l) { l.compression = 4; }), ElementsAre(KeyReason::compression));
  EXPECT_THAT(because([](LayerPlan& l) { l.kind = LayerKind::cross_attention; }), ElementsAre(KeyReason::kind));
  EXPECT_THAT(because([](LayerPlan& l) { std::get<Rope>(l.rotate[0].scheme).dim = 4; }),
              ElementsAre(KeyReason::channels));
}

TEST(CompareKeys, are_rotated_when_only_angles_differ) {
  const Keys other_base = keys(model(), model(with_base(500)));
  EXPECT_EQ(other_base.use, KeyUse::rotated);
  EXPECT_THAT(other_base.because, ElementsAre(KeyReason::frequencies));
  const Keys shifted = keys(model(), changed([](LayerPlan& l) { l.rotate[0].offset = 1; }));
  EXPECT_EQ(shifted.use, KeyUse::rotated);
  EXPECT_THAT(shifted.because, ElementsAre(KeyReason::offset));
}

// Clockwise angles are the others' negatives: apart by twice an angle, at position 1 already.
TEST(CompareKeys, are_rotated_back_where_the_sense_differs) {
  Rope clockwise = plain_rope();
  clockwise.rotation_direction = RotationDirection::clockwise;
  const Comparison found = compare(model(), model(clockwise));
  ASSERT_EQ(found.differences.size(), 1U);
  EXPECT_EQ(found.differences[0].field, "rotate/0/rotation_direction");
  EXPECT_EQ(found.differences[0].kind, DifferenceKind::substance);
  EXPECT_EQ(found.differences[0].a.words, "counterclockwise");
  EXPECT_EQ(found.differences[0].b.json, "\"clockwise\"");
  EXPECT_EQ(found.verdict, Verdict::differ);
  ASSERT_EQ(found.cached_keys.size(), 1U);
  EXPECT_EQ(found.cached_keys[0].use, KeyUse::rotated);
  EXPECT_THAT(found.cached_keys[0].because, ElementsAre(KeyReason::frequencies));
  ASSERT_EQ(found.angles.size(), 1U);
  EXPECT_EQ(found.angles[0].pair, 0);
  EXPECT_EQ(found.angles[0].inv_freq_difference, 2.0);
  EXPECT_EQ(found.angles[0].first_position, 1);
}

// Hidden states rotate and are projected then (Wav2Vec2-Conformer): no rotation of the key mends another angle.
TEST(CompareKeys, are_not_rotated_behind_a_projection) {
  const auto projected = [](Plan plan) {
    for (LayerPlan& l : plan.stacks[0].layers) l.rotate[0].role = RotateRole::before_projection;
    return plan;
  };
  const Keys other_base = keys(projected(model()), projected(model(with_base(500))));
  EXPECT_EQ(other_base.use, KeyUse::not_at_all);
  EXPECT_THAT(other_base.because, ElementsAre(KeyReason::rotation));
  EXPECT_THAT(keys(model(), projected(model())).because, ElementsAre(KeyReason::rotation));
  EXPECT_EQ(keys(projected(model()), projected(model())).use, KeyUse::as_they_are);
}

// A norm with weights, or one that takes a mean, follows the rotation: rotating again does not pass through it.
TEST(CompareKeys, are_not_rotated_behind_a_norm_that_is_no_length) {
  const auto use = [](QkNorm::Order order, bool weighted, QkNorm::Kind kind) {
    Plan a = model();
    Plan b = model(with_base(500));
    for (Plan* plan : {&a, &b}) {
      for (LayerPlan& l : plan->stacks[0].layers) l.qk_norm = QkNorm{kind, order, weighted, QkNorm::Over::head};
    }
    return keys(a, b).use;
  };
  EXPECT_EQ(use(QkNorm::Order::before, true, QkNorm::Kind::rms), KeyUse::rotated);
  EXPECT_EQ(use(QkNorm::Order::after, false, QkNorm::Kind::rms), KeyUse::rotated);
  EXPECT_EQ(use(QkNorm::Order::after, true, QkNorm::Kind::rms), KeyUse::not_at_all);
  EXPECT_EQ(use(QkNorm::Order::after, false, QkNorm::Kind::layer), KeyUse::not_at_all);
}

TEST(CompareKeys, an_attention_factor_counts_unless_a_norm_takes_it_away) {
  Rope yarn = plain_rope();
  yarn.scaling = YarnScaling{1.0, 64, 1.0};
  Rope louder = yarn;
  std::get<YarnScaling>(louder.scaling).attention_factor = 1.5;
  const Keys found = keys(model(yarn), model(louder));
  EXPECT_EQ(found.use, KeyUse::rotated);
  EXPECT_THAT(found.because, ElementsAre(KeyReason::attention_factor));
  EXPECT_EQ(compare(model(yarn), model(louder)).angles.at(0).attention_factor_ratio, 1.5);
  Plan a = model(yarn);
  Plan b = model(louder);
  for (Plan* plan : {&a, &b}) {
    for (LayerPlan& l : plan->stacks[0].layers) l.qk_norm = QkNorm{QkNorm::Kind::rms, QkNorm::Order::after, false};
  }
  EXPECT_EQ(keys(a, b).use, KeyUse::as_they_are);
}

TEST(CompareKeys, layers_without_keys_of_their_own_are_not_told) {
  Plan plan = model();
  layer(plan, 2).kv_from = 1;
  layer(plan, 3) = LayerPlan{};
  layer(plan, 3).index = 3;
  layer(plan, 3).kind = LayerKind::state_space;
  const Comparison found = compare(plan, plan);
  ASSERT_EQ(found.cached_keys.size(), 1U);
  EXPECT_EQ(found.cached_keys[0].layers.a.layers, (std::vector<std::int64_t>{0, 1}));
}

// ---- angles ----

// Pair p rotates by 10000^(-p/4) and by 500^(-p/4): 1, 0.1, 0.01, 0.001 against 1, 0.2115, 0.0447, 0.00946. Pair 1 is
// apart the most, 0.11147 = 500^-0.25 - 0.1, and so from position 1 on by more than 0.1.
TEST(CompareAngles, the_worst_pair_and_the_first_position) {
  const double apart = std::pow(500.0, -0.25) - 0.1;
  for (const auto& [tolerance, first] :
       std::vector<std::pair<double, std::int64_t>>{{0.1, 1}, {1.0, 9}, {100.0, 898}, {0.0, 1}}) {
    const Comparison found = compare(model(), model(with_base(500)), {.tolerance = tolerance});
    ASSERT_EQ(found.angles.size(), 1U);
    const AngleChange& change = found.angles[0];
    EXPECT_EQ(change.pairs, 4);
    EXPECT_EQ(change.pair, 1);
    // Two powers, each off by exact_frequency_bound of itself.
    const double bound = exact_frequency_bound(plain_rope(), 1e4) * 2 * std::pow(500.0, -0.25);
    EXPECT_NEAR(change.inv_freq_difference, apart, bound);
    EXPECT_EQ(change.first_position, first) << tolerance;
    EXPECT_GT(static_cast<double>(first) * apart, tolerance);
    EXPECT_LE(static_cast<double>(first - 1) * apart, tolerance);
    ASSERT_TRUE(change.end_difference.has_value());
    EXPECT_NEAR(*change.end_difference, 4095 * apart, 4096 * bound);
    EXPECT_EQ(change.attention_factor_ratio, 1);
  }
}

// Linear scaling by 1.5 divides every frequency: pair 0 is apart by 1/3.
TEST(CompareAngles, the_same_layers_are_told_once) {
  Rope linear = plain_rope();
  linear.scaling = LinearScaling{1.5};
  const Comparison found = compare(model(), model(linear));
  ASSERT_EQ(found.angles.size(), 1U);
  EXPECT_EQ(found.angles[0].layers.a.layers, (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(found.angles[0].layers.a, found.angles[0].layers.b);
  EXPECT_EQ(found.angles[0].pair, 0);
  EXPECT_NEAR(found.angles[0].inv_freq_difference, 1.0 / 3, kSameFrequency);
  EXPECT_EQ(found.angles[0].first_position, 1);
}

TEST(CompareAngles, rotations_of_other_widths_have_no_common_angles) {
  Rope narrow = plain_rope();
  narrow.dim = 4;
  const Comparison found = compare(model(), model(narrow));
  EXPECT_THAT(found.angles, IsEmpty());
  EXPECT_EQ(found.verdict, Verdict::differ);
}

// The length is the one asked for, else the longer of the two trained ones.
TEST(CompareAngles, are_judged_up_to_a_length) {
  Plan a = model();
  Plan b = model(with_base(500));
  b.trained_length = 100;
  EXPECT_EQ(compare(a, b).length, 4096);
  a.length = b.length = 33;
  const Comparison asked = compare(a, b);
  EXPECT_EQ(asked.length, 33);
  EXPECT_DOUBLE_EQ(*asked.angles[0].end_difference, 32 * asked.angles[0].inv_freq_difference);
  a.length = b.length = a.trained_length = b.trained_length = std::nullopt;
  EXPECT_EQ(compare(a, b).length, std::nullopt);
  EXPECT_EQ(compare(a, b).angles[0].end_difference, std::nullopt);
}

// LongRoPE rotates by the long list at 4096 tokens, four times slower than the short one: pair 0 by 1 - 1/4 radians.
TEST(CompareAngles, rules_that_depend_on_the_length_are_taken_at_it) {
  Rope rope = plain_rope();
  const std::vector<double> ones(4, 1.0);
  rope.scaling = LongRopeScaling{ones, {4, 4, 4, 4}, 1024, 1.0};
  const Comparison beyond = compare(model(), model(rope));
  ASSERT_EQ(beyond.angles.size(), 1U);
  EXPECT_EQ(beyond.angles[0].inv_freq_difference, 0.75);
  Plan a = model();
  Plan b = model(rope);
  a.length = b.length = 1024;
  const Comparison within = compare(a, b);
  EXPECT_THAT(within.angles, IsEmpty());
  // Equal angles here, others at other lengths: still a difference of substance.
  EXPECT_EQ(within.verdict, Verdict::differ);
}

TEST(CompareAngles, a_softmax_scale_is_a_ratio) {
  const Comparison found = compare(model(), changed([](LayerPlan& l) { l.softmax_scale = 0.5; }));
  ASSERT_EQ(found.softmax_scales.size(), 1U);
  EXPECT_EQ(found.softmax_scales[0].ratio, 2);
  EXPECT_EQ(found.softmax_scales[0].layers.a.layers.size(), 4U);
}

// ---- substance ----

// A rule stated in two ways: llama.cpp carries Llama 3's as one divisor a pair.
TEST(CompareSubstance, two_rules_with_the_same_angles_are_a_note) {
  Rope linear = plain_rope();
  linear.scaling = LinearScaling{4};
  Rope factors = plain_rope();
  factors.scaling = FactorListScaling{{4, 4, 4, 4}};
  const Comparison found = compare(model(linear), model(factors));
  ASSERT_EQ(found.differences.size(), 1U);
  EXPECT_EQ(found.differences[0].field, "rotate/0/scaling");
  EXPECT_EQ(found.differences[0].kind, DifferenceKind::note);
  EXPECT_EQ(found.verdict, Verdict::same);
}

// What one plan leaves to a rule's default and the other says is no difference; what is not the default is one.
TEST(CompareSubstance, a_default_that_is_said_is_a_note) {
  const auto with_rule = [](Scaling rule) {
    Rope rope = plain_rope();
    rope.scaling = std::move(rule);
    return model(rope);
  };
  const YarnScaling yarn{.factor = 4, .original_max_position_embeddings = 1024};
  YarnScaling said = yarn;
  said.beta_fast = 32;
  said.beta_slow = 1;
  said.attention_factor = static_cast<float>(0.1 * std::log(4.0) + 1);  // as GGUF has it
  EXPECT_EQ(compare(with_rule(yarn), with_rule(said)).verdict, Verdict::same);
  // Beside a difference of substance, too.
  YarnScaling other = said;
  other.truncate = false;
  const Comparison untruncated = compare(with_rule(yarn), with_rule(other));
  for (const Difference& found : untruncated.differences) {
    EXPECT_EQ(found.kind == DifferenceKind::substance, found.field == "rotate/0/scaling/truncate") << found.field;
  }
  other = said;
  other.attention_factor = 1.2;
  EXPECT_EQ(compare(with_rule(yarn), with_rule(other)).verdict, Verdict::differ);
  other = said;
  other.beta_slow = 2;
  EXPECT_EQ(compare(with_rule(yarn), with_rule(other)).verdict, Verdict::differ);

  const std::vector<double> ones(4, 1.0);
  const LongRopeScaling lists{ones, {4, 4, 4, 4}, 1024, 32.0};
  LongRopeScaling factor = lists;
  factor.factor = 8;
  factor.attention_factor = static_cast<float>(std::sqrt(1 + std::log(32.0) / std::log(1024.0)));
  EXPECT_EQ(compare(with_rule(lists), with_rule(factor)).verdict, Verdict::same);
  factor.attention_factor = 1.1;
  EXPECT_EQ(compare(with_rule(lists), with_rule(factor)).verdict, Verdict::differ);
  EXPECT_EQ(compare(with_rule({}), with_rule(LinearScaling{1})).verdict, Verdict::same);
}

// 0.1 rounded to float is 1.5e-9 off, relatively 1.5e-8.
TEST(CompareSubstance, one_float_is_a_note) {
  const double rounded = static_cast<float>(0.1);
  ASSERT_NE(rounded, 0.1);
  const auto scaled = [](double scale) { return changed([scale](LayerPlan& l) { l.softmax_scale = scale; }); };
  EXPECT_EQ(compare(scaled(0.1), scaled(rounded)).verdict, Verdict::same);
  EXPECT_EQ(compare(scaled(0.1), scaled(0.1 * (1 + 1e-6))).verdict, Verdict::differ);
}

// The base 10000 (1 + t): pair p rotates by t p/4 10000^(-p/4) less; largest at p = 1, 0.025 t, and 102.4 t at 4095.
TEST(CompareSubstance, a_base_counts_from_the_tolerance_on) {
  EXPECT_EQ(compare(model(), model(with_base(10000 * (1 + 0.9e-3 / 102.4)))).verdict, Verdict::same);
  EXPECT_EQ(compare(model(), model(with_base(10000 * (1 + 1.1e-3 / 102.4)))).verdict, Verdict::differ);
}

TEST(CompareSubstance, names_and_warnings_are_notes) {
  Plan other = model();
  other.known = false;
  other.family = other.model_type = "other";
  other.source = {SourceKind::gguf, "model.gguf"};
  other.trained_length = 8192;
  other.ignored_keys = {"/vocab_size"};
  other.sources = {{"/trained_length", "/max_position_embeddings"}};
  other.warnings = {{"precedence", "two values", {}}};
  const Comparison found = compare(model(), other);
  EXPECT_EQ(found.verdict, Verdict::same);
  EXPECT_EQ(found.differences.size(), 9U);
  for (const Difference& difference : found.differences) EXPECT_EQ(difference.kind, DifferenceKind::note);
  EXPECT_THAT(describe(found), ::testing::StartsWith("same in substance, as far as is known: B leaves facts open\n"));
}

// ---- pairing ----

// Head of 8 channels, those from 2 to 7 rotate: half pairs 2-5, 3-6, 4-7, interleaved 2-3, 4-5, 6-7.
TEST(ComparePairing, says_which_row_is_which) {
  Rope half = plain_rope();
  half.first_channel = 2;
  half.dim = 6;
  Rope interleaved = half;
  interleaved.pairing = Pairing::interleaved;
  const Comparison there = compare(model(half), model(interleaved));
  EXPECT_EQ(there.verdict, Verdict::same_but_pairing);
  ASSERT_EQ(there.pairings.size(), 1U);
  EXPECT_THAT(there.pairings[0].rows, ElementsAre(0, 1, 2, 5, 3, 6, 4, 7));
  EXPECT_EQ(there.cached_keys[0].use, KeyUse::reordered);
  const Comparison back = compare(model(interleaved), model(half));
  ASSERT_EQ(back.pairings.size(), 1U);
  for (std::size_t c = 0; c < 8; ++c) {
    EXPECT_EQ(there.pairings[0].rows[static_cast<std::size_t>(back.pairings[0].rows[c])], static_cast<std::int64_t>(c));
  }
  Rope faster = interleaved;
  faster.base = 500;
  const Comparison both = compare(model(half), model(faster));
  EXPECT_EQ(both.verdict, Verdict::differ);
  EXPECT_EQ(both.cached_keys[0].use, KeyUse::reordered_and_rotated);
}

// ---- callers ----

TEST(Compare, refuses_what_has_no_answer) {
  EXPECT_ERROR((void)compare(model(), model(), {.tolerance = -1}),
               "[compare] tolerance must be a finite number of at least 0 but is -1");
  EXPECT_ERROR((void)compare(model(), model(), {.tolerance = std::nan("")}),
               "[compare] tolerance must be a finite number of at least 0 but is nan");
  Rope odd = plain_rope();
  odd.dim = 7;
  EXPECT_THROW((void)compare(model(odd), model()), Error);
  EXPECT_THROW((void)compare(model(), model(odd)), Error);
}

}  // namespace
}  // namespace posenc::test::compare_consequences_test
