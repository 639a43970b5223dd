// The judge of `posenc attend --check` and `posenc demo`: what attend makes of every scheme passes, and what is a
// little wrong does not.
#include "attend/attend_error.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "math/input/inputs_read.h"
#include "posenc/attend.h"
#include "support/all_schemes.h"
#include "support/every_isa.h"
#include "support/tolerances.h"

namespace posenc::tool::attend_error_test {
namespace {

using namespace posenc::test;

constexpr std::int64_t kTokens = 9;
constexpr std::int64_t kTokensInPairs = 13;  // whose products are of bfloat16: fewer stream the KV cache
constexpr std::uint64_t kSeed = 20250417;

std::vector<float> random_floats(Random& random, std::int64_t tokens, std::int64_t channels, std::int64_t heads) {
  std::vector<float> out(static_cast<std::size_t>(tokens * heads * channels));
  for (float& x : out) x = static_cast<float>(random.number());
  return out;
}

// A causal layer of a scheme on random numbers.
class Case {
 public:
  explicit Case(const SchemeCase& scheme, std::int64_t tokens = kTokens)
      : tokens_(tokens), layer_(scheme.layer), random_(kSeed), made_(random_) {
    layer_.mask = {.kind = MaskKind::causal};
    if (scheme.weights) tables_.weights = scheme.weights(made_);
    if (math::reads_row_gate(layer_)) tables_.row_gate = made_.between(0.5, 2.0, {tokens_, kHeads});
    if (math::reads_log_forget(layer_)) tables_.log_forget = made_.between(-1.0, 0.0, {tokens_, kHeads});
    if (math::reads_segments(tables_.weights.score)) {
      for (std::int32_t n = 0; n < tokens_; ++n) tables_.k_segments.push_back(n / 4);
      tables_.q_segments = tables_.k_segments;
    }
    q_ = random_floats(random_, tokens_, kHeadDim, kHeads);
    k_ = random_floats(random_, tokens_, kHeadDim, kKvHeads);
    v_ = random_floats(random_, tokens_, layer_.value_dim, kKvHeads);
    out_.resize(static_cast<std::size_t>(tokens_ * kHeads * layer_.value_dim));
    if (scheme.side > 0) {
      std::vector<std::int64_t> places;
      for (std::int64_t n = 0; n < 2 * tokens_; ++n) places.push_back(n * 5 % scheme.side);
      const PositionWord word{.file = "places", .shape = {2, tokens_}, .values = places};
      positions_.emplace(word, std::vector<std::string>{"h", "w"}, 1, tokens_, 0);
    }
  }

  AttendCall call(Products products = Products::f32) const {
    return {.layer = layer_,
            .tables = tables_,
            .q = tensor(q_.data(), {tokens_, kHeads, kHeadDim}),
            .k = tensor(k_.data(), {tokens_, kKvHeads, kHeadDim}),
            .v = tensor(v_.data(), {tokens_, kKvHeads, layer_.value_dim}),
            .q_positions = positions_,
            .k_positions = positions_,
            .products = products};
  }
  TensorView out() { return tensor(out_.data(), {tokens_, kHeads, layer_.value_dim}); }
  void attend_all(Products products = Products::f32, Isa isa = Isa::automatic) {
    const AttendCall all = call(products);
    const QueryInputs inputs(all, {.count = tokens_});
    (void)attend(layer_, {.out = out(),
                          .q = all.q,
                          .k = all.k,
                          .v = all.v,
                          .weights = tables_.weights,
                          .inputs = inputs.inputs(),
                          .products = products,
                          .isa = isa});
  }
  float& at(std::int64_t token, std::int64_t head, std::int64_t channel) {
    return out_[static_cast<std::size_t>((token * kHeads + head) * layer_.value_dim + channel)];
  }
  float& key(std::int64_t token, std::int64_t head, std::int64_t channel) {
    return k_[static_cast<std::size_t>((token * kKvHeads + head) * kHeadDim + channel)];
  }
  float& value(std::int64_t token, std::int64_t head, std::int64_t channel) {
    return v_[static_cast<std::size_t>((token * kKvHeads + head) * layer_.value_dim + channel)];
  }

 private:
  std::int64_t tokens_;
  LayerPlan layer_;
  Random random_;
  Tables made_;
  LayerTables tables_;
  std::optional<RowPositions> positions_;
  std::vector<float> q_, k_, v_, out_;
};

TEST(AttendErrorTest, WhatAttendMakesOfEverySchemePasses) {
  ErrorRatio ratio("attend's judge");
  for (const SchemeCase& scheme : all_schemes()) {
    if (scheme.batches_only) continue;
    SCOPED_TRACE(scheme.name);
    Case one(scheme);
    one.attend_all();
    const AttendError error = judge(one.call(), one.out());
    EXPECT_EQ(error.tokens, kTokens);
    EXPECT_EQ(error.not_finite, 0);
    ratio.add(error.over_bound, 1.0, scheme.name);
  }
  ratio.expect();
}

// Rounding to bfloat16 passes where it is allowed, and there alone.
TEST(AttendErrorTest, ProductsOfBfloat16PassWhereTheyAreAllowed) {
  for (const Isa isa : isas_with_pairs("attend's judge")) {
    ErrorRatio ratio("attend's judge of products of bfloat16, " + std::string(name(isa)));
    for (const SchemeCase& scheme : all_schemes()) {
      if (scheme.batches_only) continue;
      SCOPED_TRACE(scheme.name);
      Case one(scheme, kTokensInPairs);
      one.attend_all(Products::bf16, isa);
      ratio.add(judge(one.call(Products::bf16), one.out()).over_bound, 1.0, scheme.name);
    }
    ratio.expect();
    Case plain({.name = "plain", .layer = plain_layer()}, kTokensInPairs);
    plain.attend_all(Products::bf16, isa);
    EXPECT_GT(judge(plain.call(), plain.out()).over_bound, 1.0);
  }
}

TEST(AttendErrorTest, WhatIsALittleWrongDoesNot) {
  Case one({.name = "plain", .layer = plain_layer()});
  one.attend_all();
  const AttendError right = judge(one.call(), one.out());
  const AttendCall call = one.call();
  const float was = one.at(4, 1, 3);
  // Twice what the bound lets pass anywhere near.
  one.at(4, 1, 3) = was + static_cast<float>(2 * right.bound + 1e-4);
  const AttendError wrong = judge(call, one.out());
  EXPECT_GT(wrong.over_bound, 1.0);
  EXPECT_EQ(wrong.row.token, 4);
  EXPECT_EQ(wrong.head, 1);
  EXPECT_EQ(wrong.channel, 3);
  one.at(4, 1, 3) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(judge(call, one.out()).over_bound, HUGE_VAL);
}

// What is no number must be none where it is seen, and nowhere else.
TEST(AttendErrorTest, WhatIsNoNumberIsAskedFor) {
  constexpr std::int64_t kBroken = 5;
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  for (const bool in_value : {false, true}) {
    SCOPED_TRACE(in_value ? "a value" : "a key");
    Case one({.name = "plain", .layer = plain_layer()});
    (in_value ? one.value(kBroken, 0, 2) : one.key(kBroken, 0, 2)) = kNone;
    one.attend_all();
    const AttendError right = judge(one.call(), one.out());
    EXPECT_LE(right.over_bound, 1.0);
    const std::int64_t rows = (kTokens - kBroken) * kHeads / kKvHeads;
    EXPECT_EQ(right.not_finite, in_value ? rows : rows * kValueDim);
    one.at(kBroken + 1, 0, 2) = 0.5F;
    const AttendError wrong = judge(one.call(), one.out());
    EXPECT_EQ(wrong.over_bound, HUGE_VAL);
    EXPECT_EQ(wrong.row.token, kBroken + 1);
    one.at(kBroken + 1, 0, 2) = kNone;
    one.at(kBroken - 1, 0, 2) = kNone;
    EXPECT_EQ(judge(one.call(), one.out()).over_bound, HUGE_VAL);
  }
}

// Scores beyond all floats are NaN in float, where double has their softmax still.
TEST(AttendErrorTest, FiniteInputsThatGiveNoNumbersFail) {
  LayerPlan layer = plain_layer();
  layer.softmax_scale = 1e38;
  Case one({.name = "a scale of 1e38", .layer = layer});
  for (std::int64_t token = 0; token < kTokens; ++token) one.key(token, 0, 0) = 100.0F + static_cast<float>(token);
  one.attend_all();
  ASSERT_FALSE(std::isfinite(one.at(kTokens - 1, 0, 0)));
  EXPECT_EQ(judge(one.call(), one.out()).over_bound, HUGE_VAL);
}

// Beside ALiBi far tiles are left out, and what is no number in them with them.
TEST(AttendErrorTest, WhatAlibiLeavesOutIsNotAskedFor) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  constexpr std::int64_t kLong = 400;
  Case one({.name = "ALiBi", .layer = with_term(Alibi{.heads = kHeads})}, kLong);
  one.value(0, 0, 2) = kNone;
  one.attend_all();
  EXPECT_FALSE(std::isnan(one.at(kLong - 1, 0, 2))) << "a test of nothing: every tile is seen";
  const AttendError error = judge(one.call(), one.out());
  EXPECT_LE(error.over_bound, 1.0);
  EXPECT_GT(error.not_finite, 0);
}

}  // namespace
}  // namespace posenc::tool::attend_error_test
