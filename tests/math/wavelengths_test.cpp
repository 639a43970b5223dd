#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "posenc/wavelength.h"
#include "support/tolerances.h"

namespace posenc::wavelengths_test {
namespace {

Rope rope_of(std::int64_t dim, double base, Scaling scaling = {}) {
  return {.pairing = Pairing::half, .head_dim = dim, .dim = dim, .base = base, .scaling = std::move(scaling)};
}

TEST(Wavelengths, FourPairsByHand) {
  // inv_freq 1, 0.1, 0.01, 0.001: one turn in 6.28, 62.8, 628 and 6283 positions.
  const Wavelengths got = wavelengths(rope_of(8, 1e4), 628);
  ASSERT_EQ(got.wavelength.size(), 4U);
  for (std::size_t p = 0; p < 4; ++p) {
    const double expected = 2 * std::numbers::pi * std::pow(10.0, static_cast<double>(p));
    EXPECT_NEAR(got.wavelength[p] / expected, 1, test::exact_frequency_bound(rope_of(8, 1e4), 1e4));
  }
  EXPECT_EQ(got.incomplete_pairs, 2);  // 628.3 does not fit in 628
  EXPECT_EQ(got.critical_dim, 4);
  EXPECT_EQ(wavelengths(rope_of(8, 1e4), 629).critical_dim, 6);
  EXPECT_EQ(wavelengths(rope_of(8, 1e4), 6).critical_dim, 0);
  EXPECT_EQ(wavelengths(rope_of(8, 1e4), 1 << 20).incomplete_pairs, 0);
}

// arXiv 2310.05209: 2 ceil(dim/2 log_base(L / 2 pi)); for Llama 2 (dim 128, L 4096) that is 92.
TEST(Wavelengths, CriticalDimensionIsThePapers) {
  EXPECT_EQ(wavelengths(rope_of(128, 1e4), 4096).critical_dim, 92);
  for (const double base : {10.0, 500.0, 1e4, 5e5, 1e6}) {
    for (const std::int64_t dim : {2, 6, 64, 80, 128, 256}) {
      for (const std::int64_t trained : {7, 100, 2048, 4096, 131072, 1 << 24}) {
        const auto pairs = static_cast<double>(dim) / 2;
        const double log_base = std::log(static_cast<double>(trained) / (2 * std::numbers::pi)) / std::log(base);
        const double paper = 2 * std::min(std::ceil(pairs * log_base), pairs);
        EXPECT_EQ(static_cast<double>(wavelengths(rope_of(dim, base), trained).critical_dim), paper)
            << "base " << base << " dim " << dim << " trained " << trained;
      }
    }
  }
}

TEST(Wavelengths, PairsThatDoNotRotateAreInfinite) {
  const Wavelengths got = wavelengths(rope_of(8, 1e6, ProportionalScaling{.partial_rotary_factor = 0.5}), 1 << 30);
  EXPECT_EQ(got.wavelength[2], std::numeric_limits<double>::infinity());
  EXPECT_EQ(got.incomplete_pairs, 2);
  EXPECT_EQ(got.critical_dim, 4);
}

TEST(Wavelengths, AreThoseOfEitherSense) {
  for (const Scaling& rule : {Scaling{}, Scaling{ProportionalScaling{.partial_rotary_factor = 0.5}}}) {
    const Wavelengths expected = wavelengths(rope_of(8, 1e4, rule), 628);
    Rope rope = rope_of(8, 1e4, rule);
    rope.rotation_direction = RotationDirection::clockwise;
    const Wavelengths got = wavelengths(rope, 628);
    EXPECT_EQ(got.wavelength, expected.wavelength);
    EXPECT_EQ(got.incomplete_pairs, expected.incomplete_pairs);
    EXPECT_EQ(got.critical_dim, expected.critical_dim);
  }
}

TEST(Wavelengths, FollowTheLength) {
  const Rope rope = rope_of(8, 1e4, DynamicScaling{.factor = 2, .max_position_embeddings = 64});
  EXPECT_EQ(wavelengths(rope, 64).critical_dim, 4);
  EXPECT_EQ(wavelengths(rope, 64).wavelength, wavelengths(rope, 64, 64).wavelength);
  EXPECT_GT(wavelengths(rope, 64, 128).wavelength[1], wavelengths(rope, 64).wavelength[1]);
}

TEST(Wavelengths, AreTheTrainedLengthsUnlessAsked) {
  const Rope rope = rope_of(
      4, 1e4, LongRopeScaling{.short_factor = {1, 1}, .long_factor = {2, 4}, .original_max_position_embeddings = 64});
  const auto second = [&rope](auto... lengths) { return wavelengths(rope, lengths...).wavelength[1]; };
  const double plain = second(64);
  EXPECT_EQ(second(65), 4 * plain);
  EXPECT_EQ(second(65, 64), plain);
  EXPECT_EQ(second(64, 65), 4 * plain);
  // 2 pi sqrt(1e4) = 628.3: with the short list it would be complete within 700.
  EXPECT_EQ(wavelengths(rope, 700).incomplete_pairs, 1);
}

TEST(Wavelengths, AreTheRulesOwnWhereItBreaksDownAtTheTrainedLength) {
  // The base would be 1e4 * (2^53 * 1e300)^(8/6).
  const Rope rope = rope_of(8, 1e4, DynamicScaling{.factor = 1e300, .max_position_embeddings = 64});
  ASSERT_TRUE(check(rope, std::int64_t{1} << 53));
  EXPECT_EQ(wavelengths(rope, std::int64_t{1} << 53).wavelength, wavelengths(rope, 64).wavelength);
}

TEST(Wavelengths, RefuseBadCalls) {
  EXPECT_THROW((void)wavelengths(rope_of(8, 1e4), 0), Error);
  EXPECT_THROW((void)wavelengths(rope_of(8, 1e4), -1), Error);
  EXPECT_THROW((void)wavelengths(rope_of(7, 1e4), 4096), Error);
  EXPECT_THROW((void)wavelengths(rope_of(8, 1e4), 4096, 0), Error);
}

}  // namespace
}  // namespace posenc::wavelengths_test
