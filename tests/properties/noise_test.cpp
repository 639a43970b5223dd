// Whether the position drowns the token, or the token the position.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "posenc/properties.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::test::noise_test {
namespace {

constexpr auto kPlaces = static_cast<double>(kMeasuredPlaces);
constexpr double kChannels = 32;

SignalToNoise at(const std::string& scheme, double multiplier, QkNorm::Kind norm = QkNorm::Kind::rms) {
  return signal_to_noise(scheme, std::array{multiplier}, norm).front();
}

// The tokens' power is a sum of as many squares as there are channels of places, of mean 1 and variance 2.
double strayed_power(double expected) { return expected * strayed_mean(kPlaces * kChannels / 2); }

// Sinusoids have half a unit of power in each channel, at every place.
TEST(SignalToNoise, OfSinusoids) {
  for (const double m : {1.0, 4.0}) {
    const SignalToNoise found = at("sinusoidal", m);
    EXPECT_NEAR(found.ratio, 2 * m * m, strayed_power(2 * m * m));
    EXPECT_EQ(found.multiplier, m);
  }
  // sqrt(C), the paper's multiplier: 2 C.
  EXPECT_NEAR(at("sinusoidal", std::sqrt(kChannels)).ratio, 2 * kChannels, strayed_power(2 * kChannels));
}

// i^2 over places 0 to n - 1 has a mean of (n - 1)(2n - 1)/6.
TEST(SignalToNoise, IntegersDrownTheToken) {
  const double noise = (kPlaces - 1) * (2 * kPlaces - 1) / 6;
  EXPECT_NEAR(at("integer", 1.0).ratio, 1 / noise, strayed_power(1 / noise));
  EXPECT_LT(at("integer", 1.0).ratio, 1e-4);
  const double below_one = noise / (kPlaces * kPlaces);
  EXPECT_NEAR(at("integer-normalised", 1.0).ratio, 1 / below_one, strayed_power(1 / below_one));
}

// The same number in every channel is the mean over channels, which a layer norm takes away: no position is left.
TEST(SignalToNoise, ALayerNormTakesIntegersAway) {
  const SignalToNoise found = at("integer", 1.0, QkNorm::Kind::layer);
  EXPECT_EQ(found.ratio, std::numeric_limits<double>::infinity());
  EXPECT_NEAR(found.cosine, 1.0, centred_cosine_error(kPlaces, kChannels));
  EXPECT_LT(at("integer", 1.0, QkNorm::Kind::rms).cosine, 0.5);
  EXPECT_LT(at("binary", 1.0, QkNorm::Kind::layer).ratio, 100.0);
}

// The larger M, the nearer the sum is to the token: ratio as M^2, the cosine towards 1. At M = 0 nothing is left of it.
TEST(SignalToNoise, GrowsWithTheMultiplier) {
  for (const char* scheme : {"learned", "sinusoidal", "binary", "integer"}) {
    const std::vector<double> multipliers{0.0, 0.5, 1.0, 2.0, 4.0, 8.0};
    const std::vector<SignalToNoise> found = signal_to_noise(scheme, multipliers, QkNorm::Kind::rms);
    ASSERT_EQ(found.size(), multipliers.size());
    EXPECT_EQ(found[0].ratio, 0.0);
    for (std::size_t n = 1; n < found.size(); ++n) {
      EXPECT_GT(found[n].cosine, found[n - 1].cosine) << scheme;
      EXPECT_DOUBLE_EQ(found[n].ratio, found[2].ratio * multipliers[n] * multipliers[n]) << scheme;
    }
  }
}

TEST(SignalToNoise, WhatCannotBeAsked) {
  EXPECT_ERROR(at("rope", 1.0), "[signal_to_noise] scheme must be of the input stage but is 'rope'");
  EXPECT_ERROR(at("roap", 1.0), "[signal_to_noise] scheme must be one of measured_schemes() but is 'roap'");
  EXPECT_TRUE(signal_to_noise("binary", {}).empty());
}

}  // namespace
}  // namespace posenc::test::noise_test
