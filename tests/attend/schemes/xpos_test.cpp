// xPos, arXiv 2212.10554: by hand, as torchscale scales both sides from the middle of a call, and with cached keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "attend/attending.h"
#include "attend/fused/fused_call.h"
#include "attend/fused/matrix.h"
#include "attend/lowered_size.h"
#include "posenc/reference.h"
#include "support/every_isa.h"
#include "support/ropes.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::test::xpos_test {
namespace {

constexpr std::int64_t kTokens = 9;
constexpr std::int64_t kDim = 6;
constexpr double kScaleBase = 8.0;

Rope rope() {
  Rope out = plain_rope(kDim);
  out.pairing = Pairing::interleaved;
  return out;
}

LayerPlan layer_of(const XPos& scheme) {
  LayerPlan layer = bare_layer(1, scheme.rope.head_dim);
  layer.rotate.push_back({.heads = 1, .scheme = scheme});
  return layer;
}

// One pair, zeta = 0.4 dim / (1.4 dim) = 2/7, a step of scale_base: cos 1 for a step into the past, times 2/7; into the
// future times 7/2.
TEST(XPos, FadesIntoThePast) {
  const Tensor x = tensor_of({2, 1, 2}, {1, 0, 1, 0});
  const Attended got = attended(layer_of({.rope = plain_rope(2), .scale_base = 1.0}),
                                {.q = x, .k = x, .v = zeros({2, 1, 1}), .stage = ScoreStage::content});
  EXPECT_DOUBLE_EQ(got.score(0, 0, 0), 1);
  EXPECT_DOUBLE_EQ(got.score(0, 1, 0), std::cos(1.0) * 2 / 7);
  EXPECT_DOUBLE_EQ(got.score(0, 0, 1), std::cos(1.0) * 7 / 2);
}

// Two pairs of a dim of 4: zeta is 1.6 / 5.6 = 2/7 and 3.6 / 5.6 = 9/14. The second pair rotates 1/100 of the first.
TEST(XPos, FadesSlowPairsLess) {
  const Tensor x = tensor_of({2, 1, 4}, {0, 1, 0, 0, 0, 1, 0, 0});  // channel 1 is the second pair's
  const Attended got = attended(layer_of({.rope = plain_rope(4), .scale_base = 1.0}),
                                {.q = x, .k = x, .v = zeros({2, 1, 1}), .stage = ScoreStage::content});
  EXPECT_DOUBLE_EQ(got.score(0, 1, 0), std::cos(0.01) * 9 / 14);
}

// XPOS.forward: sines and cosines, each times its scale to the power of (place - middle) / scale_base, and repeated;
// keys are scaled down. rotate_every_two.
Matrix xpos(const Matrix& x, bool downscale) {
  const std::int64_t length = x.rows;
  const std::int64_t min_pos = -((length + 1) / 2);
  Matrix out = x;
  for (std::int64_t t = 0; t < length; ++t) {
    for (std::int64_t c = 0; c < kDim; ++c) {
      const auto even = static_cast<double>(c / 2 * 2);
      double scale = std::pow((even + 0.4 * kDim) / (1.4 * kDim), static_cast<double>(min_pos + t) / kScaleBase);
      if (downscale) scale = 1 / scale;
      const double inv_freq = 1 / std::pow(10000.0, (even / 2) / (kDim / 2));
      const double angle = static_cast<double>(t) * inv_freq;
      const double rotated = c % 2 == 0 ? -x(t, c + 1) : x(t, c - 1);
      out(t, c) = x(t, c) * std::cos(angle) * scale + rotated * std::sin(angle) * scale;
    }
  }
  return out;
}

// Of scores of keys in the past, which only fade: zeta is at least 2/7, so exponents are at most ln(7/2) / scale_base a
// token. Angles are made in another way, those of the second pair with the largest error.
double bound(const Matrix& q, std::int64_t i, const Matrix& k, std::int64_t j) {
  const double angle = sinusoid_error(kTokens, std::pow(10000.0, -2.0 / kDim), kDoubleRounding) / kDoubleRounding;
  const double roundings = kRotatedTwice + 2 * angle + decayed_twice(std::log(3.5) * kTokens / kScaleBase) + kDim;
  return same_score(length_of(q, i) * length_of(k, j), roundings);
}

struct Numbers {
  Random random{2212};
  Tensor q = random_tensor(random, {kTokens, 1, kDim});
  Tensor k = random_tensor(random, {kTokens, 1, kDim});
};

TEST(XPos, IsTorchscales) {
  const Numbers in;
  const Attended got = attended(layer_of({.rope = rope(), .scale_base = kScaleBase}),
                                {.q = in.q, .k = in.k, .v = zeros({kTokens, 1, 1}), .stage = ScoreStage::content});
  const Matrix q = head_of(in.q, 0);
  const Matrix k = head_of(in.k, 0);
  const Matrix wanted = product(xpos(q, false), transposed(xpos(k, true)));
  for (std::int64_t i = 0; i < kTokens; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      EXPECT_NEAR(got.score(0, i, j), wanted(i, j), bound(q, i, k, j)) << i << " " << j;
    }
  }
}

// Keys from a cache are plain rotated keys, and so may queries be: the decay is the product's.
TEST(XPos, TakesKeysThatWereRotatedWithoutDecay) {
  const Numbers in;
  const LayerPlan layer = layer_of({.rope = rope(), .scale_base = kScaleBase});
  const auto rotated = [](const Tensor& x) {
    Tensor out = x;
    (void)reference::rotate(rope(), {.out = out.writable(), .x = x});
    return out;
  };
  const Tensor v = zeros({kTokens, 1, 1});
  const Attended wanted = attended(layer, {.q = in.q, .k = in.k, .v = v, .stage = ScoreStage::content});
  const Attended of_keys = attended(
      layer, {.q = in.q, .k = rotated(in.k), .v = v, .inputs = {.k_rotated = true}, .stage = ScoreStage::content});
  const Attended of_both = attended(layer, {.q = rotated(in.q),
                                            .k = rotated(in.k),
                                            .v = v,
                                            .inputs = {.q_rotated = true, .k_rotated = true},
                                            .stage = ScoreStage::content});
  EXPECT_EQ(of_keys.scores.values, wanted.scores.values);
  EXPECT_EQ(of_both.scores.values, wanted.scores.values);
}

// Whichever the positions: a cache that is shifted keeps its scores.
TEST(XPos, DependsOnTheDistanceAlone) {
  const Numbers in;
  const LayerPlan layer = layer_of({.rope = rope(), .scale_base = kScaleBase});
  const Tensor v = zeros({kTokens, 1, 1});
  const auto from = [&](std::int64_t start) {
    const LayerInputs inputs{.q_positions = PositionRange{start}, .k_positions = PositionRange{start}};
    return attended(layer, {.q = in.q, .k = in.k, .v = v, .inputs = inputs, .stage = ScoreStage::content});
  };
  const Attended here = from(0);
  const Attended there = from(100000);
  for (std::int64_t i = 0; i < kTokens; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      EXPECT_NEAR(there.score(0, i, j), here.score(0, i, j), bound(head_of(in.q, 0), i, head_of(in.k, 0), j));
    }
  }
}

// Eight tokens that stand apart, each with the keys before it.
struct Apart {
  static constexpr std::int64_t kCount = 8;
  std::vector<double> positions{};
  SchemeCall call;
  FusedCall fused{call};

  explicit Apart(double by)
      : call(cases_of(Case<XPos>{}).front(),
             {.name = "causal", .mask = {.kind = MaskKind::causal}, .queries = kCount, .keys = kCount},
             Places::by_order, 2212) {
    for (std::int64_t t = 0; t < kCount; ++t) positions.push_back(by * static_cast<double>(t));
    call.inputs.q_positions = call.inputs.k_positions = std::span<const double>(positions);
  }
};

// A scale_base of 512 halves the fastest pair every 283 tokens: over these, what has faded is e^-79 of what has not,
// and a factor of its own would be 1e34.
TEST(XPos, HoldsInFloatsWhereTokensStandFarApart) {
  Apart far(4600);
  const SchemeCall::Result wanted = far.call.by_formulas();
  const double size =
      far.call.layer.softmax_scale * longest(far.call.q.values, kHeadDim) * longest(far.call.k.values, kHeadDim);
  constexpr double kDecay = 6;  // roundings: docs/attention.md
  const double score = fused_score(size, static_cast<double>(kHeadDim) + kRotatedInFloats + kDecay);
  const double values = largest(far.call.v.values);
  const double bound = fused_output(score, values, static_cast<double>(Apart::kCount), values, 0);
  for (const Isa isa : every_isa("xPos far apart")) {
    const SchemeCall::Result is = far.fused.by_kernels(isa);
    for (std::size_t n = 0; n < is.out.size(); ++n) EXPECT_NEAR(is.out[n], wanted.out[n], bound);
  }
}

// Queries stand apart where a block of them may end, and a block must not reach across.
TEST(XPos, CutsQueriesWhereTheirPositionsWereLookedAt) {
  for (const Isa isa : every_isa("xPos blocks of queries")) {
    const std::int64_t together = isa == Isa::scalar ? 6 : isa == Isa::neon ? 12 : isa == Isa::avx2 ? 24 : 48;
    const std::int64_t count = together + together / 3;
    SchemeCall call(cases_of(Case<XPos>{}).front(),
                    {.name = "all", .mask = {.kind = MaskKind::bidirectional}, .queries = count, .keys = 8},
                    Places::by_order, 2213);
    std::vector<double> positions(static_cast<std::size_t>(count));
    for (std::int64_t t = 0; t < count; ++t) {
      positions[static_cast<std::size_t>(t)] = static_cast<double>(t < together ? t + 60000 : t);
    }
    call.inputs.q_positions = std::span<const double>(positions);
    const SchemeCall::Result is = FusedCall(call).by_kernels(isa);
    EXPECT_TRUE(std::ranges::all_of(is.out, [](double x) { return std::isfinite(x); })) << name(isa);
  }
}

// Keys of a tile, and queries of a block, of which a register of two floats has 6.
TEST(XPos, RefusesInFloatsWhatLeavesThem) {
  Apart farther(20000);
  EXPECT_ERROR(farther.fused.by_kernels(Isa::scalar),
               "[attend] positions must spread by at most 32695 within 64 tokens, for xPos' decay in floats but is "
               "140000");
  farther.call.inputs.k_positions = PositionRange{};
  EXPECT_ERROR(farther.fused.by_kernels(Isa::scalar),
               "[attend] positions must spread by at most 32695 within 6 tokens, for xPos' decay in floats but is "
               "100000");
}

}  // namespace
}  // namespace posenc::test::xpos_test
