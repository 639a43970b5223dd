// The curves that the decay of RoPE is argued with.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "posenc/properties.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::test::decay_test {
namespace {

// RoFormer's bound as it is written, arXiv 2104.09864, (37): (2/d) sum over i = 1 .. d/2 of |sum over j < i of
// e^(i r theta_j)|, each S_i summed anew.
double direct_bound(std::int64_t dim, double base, std::int64_t distance) {
  double sum = 0.0;
  for (std::int64_t i = 1; i <= dim / 2; ++i) {
    std::complex<double> s;
    for (std::int64_t j = 0; j < i; ++j) {
      const double theta = std::pow(base, -2.0 * static_cast<double>(j) / static_cast<double>(dim));
      s += std::polar(1.0, static_cast<double>(distance) * theta);
    }
    sum += std::abs(s);
  }
  return 2.0 / static_cast<double>(dim) * sum;
}

Rope rope_of(std::int64_t dim) {
  return {.pairing = Pairing::interleaved, .head_dim = dim, .dim = dim, .base = 10000.0};
}

TEST(Decay, TheBoundIsRoFormers) {
  const DecayCurves curves = decay_curves({.longest = 512, .step = 8, .samples = 1});
  ErrorRatio ratio("RoFormer's bound");
  for (std::size_t n = 0; n < curves.distances.size(); ++n) {
    const auto distance = static_cast<double>(curves.distances[n]);
    ratio.add(std::abs(curves.bound[n] - direct_bound(128, 10000.0, curves.distances[n])),
              roformer_bound_error(rope_of(128), distance), std::to_string(curves.distances[n]));
  }
  ratio.expect();
}

// Of 2 channels there is one pair, of frequency 1: |e^(ir)| = 1. Of 4 and base 10000 the second is 0.01:
// (1 + |e^(ir) + e^(0.01 ir)|) / 2 = (1 + 2 |cos(0.495 r)|) / 2.
TEST(Decay, BoundsByHand) {
  const DecayCurves one = decay_curves({.dim = 2, .longest = 10, .step = 1, .samples = 1});
  for (const double bound : one.bound) EXPECT_NEAR(bound, 1.0, 4 * kDoubleRounding);
  const DecayCurves two = decay_curves({.dim = 4, .longest = 10, .step = 1, .samples = 1});
  for (std::size_t r = 0; r < two.bound.size(); ++r) {
    EXPECT_NEAR(two.bound[r], (1 + 2 * std::abs(std::cos(0.495 * static_cast<double>(r)))) / 2,
                roformer_bound_error(rope_of(4), static_cast<double>(r)));
  }
}

TEST(Decay, AtDistanceZero) {
  const DecayCurves curves = decay_curves({.longest = 1, .step = 1, .samples = 8});
  EXPECT_EQ(curves.distances, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(curves.bound[0], 32.5);  // (64 + 1) / 2
  EXPECT_EQ(curves.equal[0], 1.0);
}

// What docs/seeds.md says of the bound: it falls in the large, and rises on the way.
TEST(Decay, TheBoundFallsInTheLargeOnly) {
  const DecayCurves curves = decay_curves({.longest = 512, .step = 1, .samples = 1});
  std::int64_t rises = 0;
  for (std::size_t n = 1; n < curves.bound.size(); ++n) rises += curves.bound[n] > curves.bound[n - 1] ? 1 : 0;
  EXPECT_EQ(rises, 241);
  EXPECT_NEAR(curves.bound[10] / curves.bound[0], 0.55, printed_decimals(2));
  EXPECT_NEAR(curves.bound[100] / curves.bound[0], 0.31, printed_decimals(2));
  EXPECT_NEAR(curves.equal[10], 0.67, printed_decimals(2));
  EXPECT_NEAR(curves.equal[100], 0.48, printed_decimals(2));
}

// A rotation keeps the distribution of random q and k, so at every distance the mean is 0 and the spread 1. Rows of a
// random table are no nearer to each other the nearer they stand.
TEST(Decay, RandomTokensDoNotDecay) {
  constexpr std::int64_t kSamples = 400;
  const DecayCurves curves = decay_curves({.longest = 2000, .step = 20, .samples = kSamples});
  for (std::size_t n = 0; n < curves.distances.size(); ++n) {
    EXPECT_NEAR(curves.random_mean[n], 0.0, strayed_mean(kSamples)) << curves.distances[n];
    EXPECT_NEAR(curves.random_spread[n], 1.0, strayed_spread(kSamples)) << curves.distances[n];
    if (n == 0) continue;  // a row with itself: sqrt(dim)
    EXPECT_NEAR(curves.table_mean[n], 0.0, strayed_mean(kSamples)) << curves.distances[n];
    EXPECT_NEAR(curves.table_spread[n], 1.0, strayed_spread(kSamples)) << curves.distances[n];
  }
  EXPECT_LT(curves.bound.back(), 0.5 * curves.bound.front());
  EXPECT_LT(curves.equal.back(), 0.5 * curves.equal.front());
}

TEST(Decay, WhatCannotBeAsked) {
  EXPECT_ERROR(decay_curves({.dim = 7}), "[decay_curves] dim must be even but is 7");
  EXPECT_ERROR(decay_curves({.dim = 0}), "[decay_curves] dim must be at least 2 but is 0");
  EXPECT_ERROR(decay_curves({.longest = 0}), "[decay_curves] longest must be at least 1 but is 0");
  EXPECT_ERROR(decay_curves({.step = 0}), "[decay_curves] step must be at least 1 but is 0");
  EXPECT_ERROR(decay_curves({.samples = 0}), "[decay_curves] samples must be at least 1 but is 0");
  EXPECT_THROW(decay_curves({.base = -1.0}), Error);
}

}  // namespace
}  // namespace posenc::test::decay_test
