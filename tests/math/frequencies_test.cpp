// What frequencies() promises beyond its numbers, softmax_multiplier(), and layout().
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <variant>
#include <vector>

#include "posenc/rope.h"
#include "posenc/rotary_table.h"
#include "support/tolerances.h"

namespace posenc::frequencies_test {
namespace {

using testing::HasSubstr;

Rope rope_of(std::int64_t dim, double base, Scaling scaling = {}) {
  return {.pairing = Pairing::half, .head_dim = dim, .dim = dim, .base = base, .scaling = std::move(scaling)};
}

TEST(Frequencies, RefuseALengthBelowOne) {
  for (const std::int64_t length : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    try {
      (void)frequencies(rope_of(8, 1e4), length);
      FAIL() << length;
    } catch (const Error& error) {
      EXPECT_EQ(error.problem().field, "length");
      EXPECT_THAT(error.what(), HasSubstr(std::to_string(length)));
    }
  }
}

// A scheme may pass check() and still overflow at a length, or in float.
TEST(Frequencies, RefuseWhatOverflowsOnlyAtALength) {
  const Rope rope = rope_of(8, 1e4, DynamicScaling{.factor = 1e300, .max_position_embeddings = 64});
  EXPECT_FALSE(check(rope));
  EXPECT_NO_THROW((void)frequencies(rope, 64));
  EXPECT_THROW((void)frequencies(rope, 65), Error);
}

TEST(Frequencies, RefuseWhatOverflowsOnlyInFloat) {
  const Rope rope = rope_of(8, 1e300);
  EXPECT_NO_THROW((void)frequencies(rope));
  try {
    (void)frequencies(rope, {}, Arithmetic::float32);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.problem().field, "inv_freq[1]");
    EXPECT_THAT(error.what(), HasSubstr("float"));
  }
}

TEST(Frequencies, LengthMattersOnlyToRulesThatReadIt) {
  const std::vector<Scaling> rules{std::monostate{},
                                   LinearScaling{4},
                                   NtkScaling{4},
                                   YarnScaling{.factor = 4, .original_max_position_embeddings = 64},
                                   Llama3Scaling{8, 1, 4, 64},
                                   ProportionalScaling{0.5, 1},
                                   FactorListScaling{{1, 2, 3, 4}}};
  for (const Scaling& rule : rules) {
    const Rope rope = rope_of(8, 1e4, rule);
    EXPECT_EQ(frequencies(rope), frequencies(rope, 1)) << rule.index();
    EXPECT_EQ(frequencies(rope), frequencies(rope, 1 << 30)) << rule.index();
  }
}

// Whatever the rule, the length and the arithmetic; a pair that rests has 0, and not -0.
TEST(Frequencies, ClockwiseAreNegative) {
  const std::vector<Scaling> rules{std::monostate{},
                                   LinearScaling{4},
                                   NtkScaling{4},
                                   DynamicScaling{4, 64},
                                   QwenNtkScaling{64},
                                   YarnScaling{.factor = 4, .original_max_position_embeddings = 64},
                                   LongRopeScaling{{1, 1, 2, 2}, {1, 2, 3, 4}, 64, 4},
                                   Llama3Scaling{8, 1, 4, 64},
                                   ProportionalScaling{0.5, 1},
                                   FactorListScaling{{1, 2, 3, 4}}};
  static_assert(std::variant_size_v<Scaling> == 10);
  for (const Scaling& rule : rules) {
    for (const Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::float32}) {
      for (const std::int64_t length : {64, 4096}) {
        Rope rope = rope_of(8, 1e4, rule);
        Frequencies expected = frequencies(rope, length, arithmetic);
        for (double& value : expected.inv_freq) value = -value;
        rope.rotation_direction = RotationDirection::clockwise;
        EXPECT_FALSE(check(rope, length));
        const Frequencies got = frequencies(rope, length, arithmetic);
        EXPECT_EQ(got, expected) << rule.index();
        for (const double value : got.inv_freq) EXPECT_EQ(std::signbit(value), value != 0) << rule.index();
      }
    }
  }
}

// Extension by a factor divides the slowest pair by it and leaves the fastest: YaRN, Llama 3, NTK.
TEST(Frequencies, ExtensionRulesKeepTheFastestPairAndDivideTheSlowest) {
  const std::vector<double> plain = frequencies(rope_of(64, 5e5)).inv_freq;
  const std::vector<Scaling> rules{NtkScaling{8}, YarnScaling{.factor = 8, .original_max_position_embeddings = 8192},
                                   Llama3Scaling{8, 1, 4, 8192}};
  for (const Scaling& rule : rules) {
    const Rope rope = rope_of(64, 5e5, rule);
    const std::vector<double> scaled = frequencies(rope).inv_freq;
    EXPECT_EQ(scaled.front(), 1) << rule.index();
    EXPECT_NEAR(plain.back() / scaled.back() / 8, 1, 2 * test::exact_frequency_bound(rope, 5e5 * 16)) << rule.index();
    for (std::size_t p = 1; p < scaled.size(); ++p) EXPECT_LT(scaled[p], scaled[p - 1]) << rule.index();
  }
}

// Each Llama 3 divisor, as a GGUF file stores it, gives the same frequencies as the rule.
TEST(Frequencies, AFactorListIsAnyElementwiseRule) {
  const std::vector<double> plain = frequencies(rope_of(64, 5e5)).inv_freq;
  const Rope rule = rope_of(64, 5e5, Llama3Scaling{8, 1, 4, 8192});
  const std::vector<double> scaled = frequencies(rule).inv_freq;
  FactorListScaling list;
  for (std::size_t p = 0; p < plain.size(); ++p) list.factors.push_back(plain[p] / scaled[p]);
  const std::vector<double> listed = frequencies(rope_of(64, 5e5, list)).inv_freq;
  for (std::size_t p = 0; p < plain.size(); ++p) {
    EXPECT_NEAR(listed[p] / scaled[p], 1, test::kSameFrequency);
  }
}

// Llama 3 with equal bounds, and the fastest pair's wavelength, 2 pi, exactly on them.
TEST(Frequencies, AWavelengthOnBothOfLlama3sBoundsStays) {
  constexpr double kBound = 1 / (2 * std::numbers::pi);
  static_assert(1 / kBound == 2 * std::numbers::pi);
  for (const Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::float32}) {
    const std::vector<double> plain = frequencies(rope_of(8, 1e4), {}, arithmetic).inv_freq;
    const Rope rope = rope_of(8, 1e4, Llama3Scaling{8, kBound, kBound, 1});
    EXPECT_THAT(frequencies(rope, {}, arithmetic).inv_freq,
                testing::ElementsAre(1, plain[1] / 8, plain[2] / 8, plain[3] / 8));
  }
}

TEST(Frequencies, FloatIsWithinItsRoundingsOfExact) {
  for (const double base : {1e4, 5e5, 1e7}) {
    test::ErrorRatio ratio("float against exact, base " + std::to_string(static_cast<int>(base)));
    for (const std::int64_t dim : {64, 80, 96, 128}) {
      const std::vector<double> exact = frequencies(rope_of(dim, base)).inv_freq;
      const std::vector<double> rounded = frequencies(rope_of(dim, base), {}, Arithmetic::float32).inv_freq;
      for (std::size_t p = 0; p < exact.size(); ++p) {
        ratio.add(std::abs(rounded[p] / exact[p] - 1), test::float_ladder_bound(base), "dim " + std::to_string(dim));
      }
    }
    ratio.expect();
  }
}

TEST(SoftmaxMultiplier, DeepSeekV3) {
  YarnScaling rule{.factor = 40, .original_max_position_embeddings = 4096, .mscale = 1, .mscale_all_dim = 1};
  // (0.1 ln 40 + 1)^2; over sqrt(192), the expanded head, it is the published softmax scale 0.135234.
  EXPECT_NEAR(softmax_multiplier(rule) / std::sqrt(192.0), 0.135234, test::printed_decimals(6));
  EXPECT_EQ(frequencies(rope_of(64, 1e4, rule)).attention_factor, 1);
  rule.mscale_all_dim = 0.707;  // DeepSeek V2: (0.0707 ln 40 + 1)^2 = 1.260804^2
  EXPECT_NEAR(softmax_multiplier(rule), 1.260804 * 1.260804, 2 * 1.3 * test::printed_decimals(6));
}

TEST(SoftmaxMultiplier, IsOneElsewhere) {
  EXPECT_EQ(softmax_multiplier(std::monostate{}), 1);
  EXPECT_EQ(softmax_multiplier(LinearScaling{8}), 1);
  EXPECT_EQ(softmax_multiplier(YarnScaling{.factor = 40, .original_max_position_embeddings = 4096}), 1);
  EXPECT_EQ(softmax_multiplier(YarnScaling{.factor = 40, .mscale = 1, .mscale_all_dim = 0}), 1);
  EXPECT_EQ(softmax_multiplier(YarnScaling{.factor = 0.5, .mscale_all_dim = 1}), 1);
}

TEST(SoftmaxMultiplier, RefusesWhatIsNoNumber) {
  EXPECT_THROW((void)softmax_multiplier(YarnScaling{.factor = -1, .mscale_all_dim = 1}), Error);
  EXPECT_THROW((void)softmax_multiplier(YarnScaling{.factor = 40, .mscale_all_dim = -1}), Error);
}

TEST(Layout, CarriesTheChannelsOfTheScheme) {
  const Rope rope{.pairing = Pairing::interleaved,
                  .head_dim = 192,
                  .first_channel = 128,
                  .dim = 64,
                  .axes = interleaved_axes({12, 10, 10})};
  const RotaryLayout got = layout(rope);
  EXPECT_EQ(got, (RotaryLayout{Pairing::interleaved, 192, 128, 64, interleaved_axes({12, 10, 10})}));
  EXPECT_EQ(got.pairs(), 32);
}

TEST(Rope, ComparesByValue) {
  EXPECT_EQ(rope_of(8, 1e4, NtkScaling{2}), rope_of(8, 1e4, NtkScaling{2}));
  EXPECT_NE(rope_of(8, 1e4, NtkScaling{2}), rope_of(8, 1e4, LinearScaling{2}));
  const Rope rope = rope_of(8, 1e4);
  EXPECT_TRUE(rope.pairing == Pairing::half);
  EXPECT_TRUE(Pairing::interleaved != rope.pairing);
}

}  // namespace
}  // namespace posenc::frequencies_test
