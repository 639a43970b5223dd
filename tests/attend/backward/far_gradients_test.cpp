// What the backward pass leaves out: tiles of keys to which ALiBi leaves no weight that a float could show.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "posenc/attend.h"
#include "posenc/attend_backward.h"
#include "support/every_isa.h"

namespace posenc::test::far_gradients_test {
namespace {

constexpr std::int64_t kQueries = 64;  // as few as are worth measuring keys for
constexpr std::int64_t kKeys = 512;
constexpr std::int64_t kDim = 8;

std::vector<float> numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<float> out;
  for (std::int64_t n = 0; n < count; ++n) {
    seed = seed * 1664525U + 1013904223U;  // Numerical Recipes' generator
    out.push_back(static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-31F);
  }
  return out;
}

// Of the last 64 of 512 tokens: gradients of q, k and v.
struct Passes {
  std::vector<float> q = numbers(kQueries * kDim, 1);
  std::vector<float> k = numbers(kKeys * kDim, 2);
  std::vector<float> v = numbers(kKeys * kDim, 3);
  std::vector<float> d_out = numbers(kQueries * kDim, 4);
  std::vector<float> d_q = std::vector<float>(kQueries * kDim);
  std::vector<float> d_k = std::vector<float>(kKeys * kDim);
  std::vector<float> d_v = std::vector<float>(kKeys * kDim);

  void run(Isa isa, double max_bias) {
    LayerPlan layer{.heads = 1, .kv_heads = 1, .head_dim = kDim, .value_dim = kDim, .softmax_scale = 0.5};
    layer.mask.kind = MaskKind::causal;
    layer.score = {Alibi{.heads = 1, .max_bias = max_bias}};
    std::vector<std::int64_t> places;
    for (std::int64_t n = kKeys - kQueries; n < kKeys; ++n) places.push_back(n);
    const LayerInputs inputs{.q_positions = places, .q_order = places};
    std::vector<float> out(kQueries * kDim);
    std::vector<float> lse(kQueries);
    const auto view = [](std::vector<float>& x) {
      return tensor(x.data(), {static_cast<std::int64_t>(x.size()) / kDim, 1, kDim});
    };
    ASSERT_TRUE(attend(layer, {.out = view(out),
                               .q = view(q),
                               .k = view(k),
                               .v = view(v),
                               .inputs = inputs,
                               .lse = tensor(lse.data(), {kQueries, 1}),
                               .isa = isa}));
    ASSERT_TRUE(attend_backward(layer, {.q = view(q),
                                        .k = view(k),
                                        .v = view(v),
                                        .inputs = inputs,
                                        .out = view(out),
                                        .lse = tensor(lse.data(), {kQueries, 1}),
                                        .d_out = view(d_out),
                                        .d_q = view(d_q),
                                        .d_k = view(d_k),
                                        .d_v = view(d_v),
                                        .isa = isa}));
  }
};

// A slope of 1/8: the first tile's weights are at most e^-48 of the largest.
TEST(FarGradients, LeaveOutWhatAlibiLeavesNothing) {
  for (const Isa isa : every_isa("gradients of far tiles")) {
    Passes wanted;
    wanted.run(isa, 3.0);
    Passes is;
    std::fill_n(is.v.begin(), 64 * kDim, std::numeric_limits<float>::quiet_NaN());  // whoever reads them has them
    is.run(isa, 3.0);
    EXPECT_EQ(is.d_q, wanted.d_q);
    EXPECT_EQ(is.d_k, wanted.d_k);
    EXPECT_EQ(is.d_v, wanted.d_v);
    EXPECT_EQ(std::ranges::count(wanted.d_k.begin(), wanted.d_k.begin() + 64 * kDim, 0.0F), 64 * kDim);
    for (std::int64_t n = 448 * kDim; n < kKeys * kDim; ++n) EXPECT_NE(wanted.d_k[static_cast<std::size_t>(n)], 0.0F);
  }
}

// A slope of 1/32 leaves e^-16 to the first tile, which is more than 2^-25 and is not left out.
TEST(FarGradients, KeepWhatAlibiLeavesSomething) {
  for (const Isa isa : every_isa("gradients of tiles that are not far")) {
    Passes is;
    is.run(isa, 5.0);
    for (const float x : is.d_k) EXPECT_NE(x, 0.0F);
  }
}

}  // namespace
}  // namespace posenc::test::far_gradients_test
