// Linear attention with rotation: against its recurrent form, which has a state instead of a loop over keys.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "posenc/reference.h"
#include "posenc/reference_linear.h"
#include "support/random_tensor.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::test::linear_test {
namespace {

constexpr std::int64_t kTokens = 7;
constexpr std::int64_t kDim = 6;
constexpr std::int64_t kValueDim = 3;

LayerPlan layer_with(std::optional<Rope> rope) {
  LayerPlan layer{
      .kind = LayerKind::linear_attention, .heads = 2, .kv_heads = 1, .head_dim = kDim, .value_dim = kValueDim};
  if (rope) layer.rotate.push_back({.heads = 2, .scheme = *rope});
  return layer;
}

Rope yarn() {
  Rope rope{.pairing = Pairing::half, .head_dim = kDim, .dim = 4};
  rope.scaling = YarnScaling{.factor = 4.0, .original_max_position_embeddings = 64};
  return rope;
}

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

double feature(FeatureMap map, double x) {
  if (map == FeatureMap::identity) return x;
  if (map == FeatureMap::relu) return x > 0 ? x : 0;
  return x > 0 ? x + 1 : std::exp(x);
}

// One head's features [tokens, head_dim], and the same rotated, without the attention factor.
struct Features {
  std::vector<double> plain;
  std::vector<double> rotated;
};

Features features_of(const Tensor& x, std::int64_t heads, std::int64_t h, FeatureMap map, const Rope& rope) {
  Features out;
  const double factor = frequencies(rope).attention_factor;
  for (std::int64_t t = 0; t < kTokens; ++t) {
    for (std::int64_t c = 0; c < kDim; ++c) {
      out.plain.push_back(feature(map, x.values[index((t * heads + h) * kDim + c)]));
    }
  }
  out.rotated = out.plain;
  (void)reference::rotate(
      rope, {.out = tensor(out.rotated.data(), {kTokens, 1, kDim}), .x = tensor(out.plain.data(), {kTokens, 1, kDim})});
  for (std::size_t i = 0; i < out.rotated.size(); ++i) {
    if (static_cast<std::int64_t>(i) % kDim < rope.dim) out.rotated[i] /= factor;
  }
  return out;
}

TEST(LinearAttention, EqualsItsRecurrentForm) {
  ErrorRatio ratio("linear attention");
  Random random(5);
  const Tensor q = random_tensor(random, {kTokens, 2, kDim});
  const Tensor k = random_tensor(random, {kTokens, 1, kDim});
  const Tensor v = random_tensor(random, {kTokens, 1, kValueDim});
  EXPECT_GT(frequencies(yarn()).attention_factor, 1.1);  // which must not be seen
  for (const FeatureMap map : {FeatureMap::elu_plus_one, FeatureMap::identity, FeatureMap::relu}) {
    Tensor out = zeros({kTokens, 2, kValueDim});
    (void)reference::attend_linear(layer_with(yarn()),
                                   {.out = out.writable(), .q = q, .k = k, .v = v, .feature_map = map});
    const Features key = features_of(k, 1, 0, map, yarn());
    for (std::int64_t h = 0; h < 2; ++h) {
      const Features query = features_of(q, 2, h, map, yarn());
      std::vector<double> state(kDim * kValueDim);  // sum of rotated k_j v_j
      std::vector<double> norm(kDim);               // sum of k_j
      double sizes = 0;                             // of |k_j|
      std::vector<double> sized_values(kValueDim);  // of |k_j| |v_j|
      for (std::int64_t t = 0; t < kTokens; ++t) {
        const auto length = [&](const Features& of) {
          double square = 0;
          for (std::int64_t c = 0; c < kDim; ++c) square += std::pow(of.plain[index(t * kDim + c)], 2);
          return std::sqrt(square);
        };
        double total = 0;
        sizes += length(key);
        for (std::int64_t c = 0; c < kDim; ++c) {
          norm[index(c)] += key.plain[index(t * kDim + c)];
          total += query.plain[index(t * kDim + c)] * norm[index(c)];
        }
        for (std::int64_t d = 0; d < kValueDim; ++d) {
          const double value = v.values[index(t * kValueDim + d)];
          sized_values[index(d)] += length(key) * std::abs(value);
          double sum = 0;
          for (std::int64_t c = 0; c < kDim; ++c) {
            double& of_state = state[index(c * kValueDim + d)];
            of_state += key.rotated[index(t * kDim + c)] * value;
            sum += query.rotated[index(t * kDim + c)] * of_state;
          }
          const double expected = total == 0 ? 0 : sum / total;
          const double got = out.values[index((t * 2 + h) * kValueDim + d)];
          const double products = length(query) * (sized_values[index(d)] + std::abs(expected) * sizes);
          const double bound = total == 0 ? 0 : linear_attention_bound(products / std::abs(total), t + 1, kDim);
          ratio.add(std::abs(got - expected), bound, std::to_string(t));
        }
      }
    }
  }
  ratio.expect();
}

TEST(LinearAttention, WithoutRotationWeighsByFeatures) {
  // f(q) = 1, f(k) = 1 and 3: values 2 and 6 weigh 1 and 3.
  const LayerPlan layer{.kind = LayerKind::linear_attention, .heads = 1, .kv_heads = 1, .head_dim = 1, .value_dim = 1};
  const Tensor q{{0.0, 0.0}, {2, 1, 1}};
  const Tensor k{{0.0, 2.0}, {2, 1, 1}};
  const Tensor v{{2.0, 6.0}, {2, 1, 1}};
  Tensor out = zeros({2, 1, 1});
  (void)reference::attend_linear(layer, {.out = out.writable(), .q = q, .k = k, .v = v});
  EXPECT_DOUBLE_EQ(out.values[0], 2.0);
  EXPECT_DOUBLE_EQ(out.values[1], 5.0);
}

TEST(LinearAttention, RefusesWhatItHasNoPlaceFor) {
  const Tensor x = zeros({1, 1, kDim});
  const Tensor q = zeros({1, 2, kDim});
  const Tensor v = zeros({1, 1, kValueDim});
  Tensor out = zeros({1, 2, kValueDim});
  LayerPlan layer = layer_with({});
  layer.score.emplace_back(Alibi{.heads = 2});
  EXPECT_ERROR((void)reference::attend_linear(layer, {.out = out.writable(), .q = q, .k = x, .v = v}),
               "[attend_linear] layer.score must be omitted in linear attention but is given");
  EXPECT_EQ(out.values, zeros({1, 2, kValueDim}).values);
}

}  // namespace
}  // namespace posenc::test::linear_test
