// Values that rotate: RoFormer's rotary_value, arXiv 2104.09864, and DeepSeek V4's outputs that are rotated back.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <vector>

#include "attend/attending.h"
#include "attend/fused/matrix.h"
#include "support/ropes.h"
#include "support/tolerances.h"

namespace posenc::test::rotated_values_test {
namespace {

constexpr std::int64_t kTokens = 8;
constexpr std::int64_t kDim = 6;

LayerPlan layer_of(const Rope& rope, bool inverse_on_output) {
  LayerPlan layer = bare_layer(1, rope.head_dim, rope.head_dim);
  layer.rotate.push_back({.heads = 1, .scheme = rope});
  layer.value = RotatedValues{.inverse_on_output = inverse_on_output};
  return layer;
}

// Query 0 sees the value (1, 0) of token 2, query 2 that of token 0: a radian a step. Read as it is, token 2's value
// has rotated by 2 and token 0's not at all; rotated back, they have by 2 and by -2, key less query.
TEST(RotatedValues, ShowWhereTheKeyStands) {
  const Tensor none = zeros({3, 1, 2});
  const Tensor v = tensor_of({3, 1, 2}, {1, 0, 0, 0, 1, 0});
  const Tensor seen = tensor_of({3, 3}, {0, 0, 1, 0, 1, 0, 1, 0, 0});
  const Call call{.q = none, .k = none, .v = v, .inputs = {.attn_mask = seen}};
  const Attended as_read = attended(layer_of(plain_rope(2), false), call);
  EXPECT_DOUBLE_EQ(as_read.output(0, 0, 0), std::cos(2.0));
  EXPECT_DOUBLE_EQ(as_read.output(0, 0, 1), std::sin(2.0));
  EXPECT_DOUBLE_EQ(as_read.output(2, 0, 0), 1);
  EXPECT_DOUBLE_EQ(as_read.output(2, 0, 1), 0);
  const Attended back = attended(layer_of(plain_rope(2), true), call);
  EXPECT_DOUBLE_EQ(back.output(0, 0, 0), std::cos(2.0));
  EXPECT_DOUBLE_EQ(back.output(0, 0, 1), std::sin(2.0));
  EXPECT_DOUBLE_EQ(back.output(2, 0, 0), std::cos(-2.0));
  EXPECT_DOUBLE_EQ(back.output(2, 0, 1), std::sin(-2.0));
}

// YaRN's factor a makes values a times as long; rotated back they are as long as they were.
TEST(RotatedValues, LoseTheAttentionFactorOnTheWayBack) {
  const Rope rope = plain_rope(2, 10000.0, YarnScaling{.factor = 8.0, .original_max_position_embeddings = 64});
  const double a = frequencies(rope).attention_factor;
  EXPECT_GT(a, 1.2);
  const Tensor none = zeros({2, 1, 2});
  const Tensor v = tensor_of({2, 1, 2}, {3, 4, 3, 4});
  const Tensor seen = tensor_of({2, 2}, {0, 1, 1, 0});
  for (const bool inverse : {false, true}) {
    const Attended got =
        attended(layer_of(rope, inverse), {.q = none, .k = none, .v = v, .inputs = {.attn_mask = seen}});
    for (std::int64_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(std::hypot(got.output(i, 0, 0), got.output(i, 0, 1)), inverse ? 5 : 5 * a,
                  a * 2 * composition_bound(5));
    }
  }
}

// RoFormerSinusoidalPositionalEmbedding: sines of all angles, then cosines; apply_rotary_position_embeddings: each
// twice, and the partner of a channel by rotate_half over neighbours.
Matrix rotary_value(const Matrix& value) {
  Matrix out = value;
  for (std::int64_t pos = 0; pos < value.rows; ++pos) {
    std::vector<double> sinusoidal_pos(kDim);
    for (std::int64_t j = 0; j < kDim / 2; ++j) {
      const double angle = static_cast<double>(pos) / std::pow(10000.0, 2.0 * static_cast<double>(j) / kDim);
      sinusoidal_pos[static_cast<std::size_t>(j)] = std::sin(angle);
      sinusoidal_pos[static_cast<std::size_t>(j + kDim / 2)] = std::cos(angle);
    }
    for (std::int64_t c = 0; c < kDim; ++c) {
      const double sin_pos = sinusoidal_pos[static_cast<std::size_t>(c / 2)];
      const double cos_pos = sinusoidal_pos[static_cast<std::size_t>(c / 2 + kDim / 2)];
      const double rotated_half = c % 2 == 0 ? -value(pos, c + 1) : value(pos, c - 1);
      out(pos, c) = value(pos, c) * cos_pos + rotated_half * sin_pos;
    }
  }
  return out;
}

// Each query sees all eight values alike.
TEST(RotatedValues, AreRoformers) {
  Rope rope = plain_rope(kDim);
  rope.pairing = Pairing::interleaved;
  Random random(2104);
  const Tensor v = whole_tensor(random, {kTokens, 1, kDim});
  const Tensor none = zeros({kTokens, 1, kDim});
  const Attended got = attended(layer_of(rope, false), {.q = none, .k = none, .v = v});
  const Matrix rotated = rotary_value(head_of(v, 0));
  for (std::int64_t c = 0; c < kDim; ++c) {
    double mean = 0.0;
    for (std::int64_t j = 0; j < kTokens; ++j) mean += rotated(j, c) / kTokens;
    const double w = std::pow(10000.0, -2.0 * static_cast<double>(c / 2) / kDim);
    for (std::int64_t i = 0; i < kTokens; ++i) {
      EXPECT_NEAR(got.output(i, 0, c), mean, rotated_mean_bound(4, kTokens, w, 1, kTokens)) << i << " " << c;
    }
  }
}

// precompute_freqs_cis and apply_rotary_emb of DeepSeek's own code: neighbours as complex numbers, of the last channels
// of the head; inverse: by the conjugate.
void apply_rotary_emb(Matrix& x, std::int64_t rope_dim, bool inverse) {
  const std::int64_t first = x.columns - rope_dim;
  for (std::int64_t t = 0; t < x.rows; ++t) {
    for (std::int64_t p = 0; p < rope_dim / 2; ++p) {
      const double freq = 1 / std::pow(10000.0, 2.0 * static_cast<double>(p) / static_cast<double>(rope_dim));
      std::complex<double> freqs_cis = std::polar(1.0, static_cast<double>(t) * freq);
      if (inverse) freqs_cis = std::conj(freqs_cis);
      const std::complex<double> rotated = std::complex(x(t, first + 2 * p), x(t, first + 2 * p + 1)) * freqs_cis;
      x(t, first + 2 * p) = rotated.real();
      x(t, first + 2 * p + 1) = rotated.imag();
    }
  }
}

// Keys and values are one tensor; weights are those that the scores gave.
TEST(RotatedValues, AreDeepSeeksVersion4) {
  constexpr std::int64_t kRopeDim = 4;
  Rope rope{.pairing = Pairing::interleaved, .head_dim = kDim, .first_channel = kDim - kRopeDim, .dim = kRopeDim};
  Random random(2512);
  const Tensor q = random_tensor(random, {kTokens, 1, kDim});
  const Tensor kv = whole_tensor(random, {kTokens, 1, kDim});
  LayerPlan layer = layer_of(rope, true);
  layer.mask.kind = MaskKind::causal;
  const Attended got = attended(layer, {.q = q, .k = kv, .v = kv});
  const Matrix weights{.rows = kTokens, .columns = kTokens, .values = got.scores.values};
  Matrix rotated = head_of(kv, 0);
  apply_rotary_emb(rotated, kRopeDim, false);
  Matrix o = product(weights, rotated);
  apply_rotary_emb(o, kRopeDim, true);
  for (std::int64_t c = 0; c < kDim; ++c) {
    const std::int64_t pair = c < kDim - kRopeDim ? 0 : (c - kDim + kRopeDim) / 2;
    const double w = std::pow(10000.0, -2.0 * static_cast<double>(pair) / kRopeDim);
    for (std::int64_t i = 0; i < kTokens; ++i) {
      EXPECT_NEAR(got.output(i, 0, c), o(i, c), rotated_mean_bound(4, kTokens, w, 2, kTokens)) << i << " " << c;
    }
  }
}

}  // namespace
}  // namespace posenc::test::rotated_values_test
