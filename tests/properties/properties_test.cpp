// Every property against numbers worked by hand; of each there is a scheme that passes and one that fails.
#include "posenc/properties.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::test::properties_test {
namespace {

constexpr auto kPlaces = static_cast<double>(kMeasuredPlaces);
constexpr double kHeads = 2;
constexpr double kHeadDim = 16;
constexpr double kChannels = kHeads * kHeadDim;

// Each measured once for all tests.
const PropertyResult& result(const std::string& scheme, Property property) {
  static std::map<std::pair<std::string, Property>, PropertyResult> measured;
  const auto key = std::pair(scheme, property);
  const auto found = measured.find(key);
  if (found != measured.end()) return found->second;
  return measured.emplace(key, measure_property(scheme, property)).first->second;
}

double number(const std::string& scheme, Property property) { return result(scheme, property).number; }

void expect_judged(Property property, Judgement judgement, const std::vector<std::string>& schemes) {
  for (const std::string& scheme : schemes) {
    EXPECT_EQ(result(scheme, property).judgement, judgement)
        << scheme << ", " << name(property) << ": " << number(scheme, property);
  }
}

void expect_pass(Property property, const std::vector<std::string>& schemes) {
  expect_judged(property, Judgement::passes, schemes);
}
void expect_fail(Property property, const std::vector<std::string>& schemes) {
  expect_judged(property, Judgement::fails, schemes);
}

// Neighbours differ by 1 in every channel; bits in one; i/n in 1/n, which f32 holds. ALiBi's slopes for two heads are
// 2^-4 and 2^-8.
TEST(Properties, UniqueInF32) {
  EXPECT_EQ(number("integer", Property::unique_f32), std::sqrt(kChannels));
  EXPECT_EQ(number("binary", Property::unique_f32), 1.0);
  EXPECT_EQ(number("integer-normalised", Property::unique_f32), std::sqrt(kChannels) / kPlaces);
  EXPECT_EQ(number("nope", Property::unique_f32), 0.0);
  const double alibi = std::sqrt(kHeadDim * (0x1p-8 + 0x1p-16));
  EXPECT_NEAR(number("alibi", Property::unique_f32), alibi,
              stored_distance_error(DType::f32, kChannels, kPlaces / 16 + std::sqrt(kHeadDim)));
  expect_pass(Property::unique_f32, {"learned", "sinusoidal", "rope", "xpos", "rotated-values"});
  // Far places share a bucket, or a row.
  expect_fail(Property::unique_f32, {"t5", "clipped-bias", "shaw", "rerope", "query-scales-log-n"});
}

// bfloat16 has 8 bits: 257 becomes 256. Sandwich's and KERPLE's far distances differ by less than 2^-8 of the score.
TEST(Properties, UniqueInBfloat16) {
  EXPECT_EQ(number("integer", Property::unique_bf16), 0.0);
  EXPECT_EQ(result("integer", Property::unique_bf16).where, "places 256 and 257");
  EXPECT_EQ(number("binary", Property::unique_bf16), 1.0);
  expect_pass(Property::unique_bf16, {"learned", "sinusoidal", "rope", "alibi"});
  expect_fail(Property::unique_bf16, {"integer", "integer-normalised", "kerple", "sandwich", "nope"});
}

// Bit k flips with probability 2^-k, of which the best map explains 4^-k: what nine bits leave, docs/seeds.md.
TEST(Properties, Affine) {
  double flips = 0.0;
  double explained = 0.0;
  for (int k = 0; k < 9; ++k) {
    flips += std::pow(2.0, -k);
    explained += std::pow(4.0, -k);
  }
  const double binary = number("binary", Property::affine);
  EXPECT_NEAR(binary, 0.57, printed_decimals(2));
  // The sequence does not wrap, so that each bit's last flip is missing, of 512 steps and of 64.
  EXPECT_NEAR(binary, std::sqrt((flips - explained) / flips), 9.0 / kTrainedPlaces / flips);
  // A step of 1; a rotation; a line; R(p + 1) u and v + W r by one map.
  expect_pass(Property::affine, {"integer", "sinusoidal", "rope", "xpos", "alibi", "transformer-xl", "rotated-values"});
  // Steps of 1/n, and of frequencies that depend on n: one map per length.
  expect_fail(Property::affine, {"binary", "learned", "integer-normalised", "rope-dynamic", "t5", "kerple", "fire"});
}

// The mean of (p - q)^2 over n places is n (n + 1) / 6. From 255 to 256 nine bits change; of two numbers of nine bits
// that are not the same, each bit differs with probability (1/2) n / (n - 1).
TEST(Properties, Smooth) {
  const double step = 1 / std::sqrt(kPlaces * (kPlaces + 1) / 6);
  const double bits = 3 / std::sqrt(9 * 0.5 * kPlaces / (kPlaces - 1));
  const auto error = [](double value) { return root_mean_square_error(kPlaces * kPlaces / 2, kChannels, value); };
  EXPECT_NEAR(number("integer", Property::smooth), step, error(step));
  EXPECT_NEAR(number("integer-normalised", Property::smooth), step, error(step));
  EXPECT_NEAR(number("binary", Property::smooth), bits, error(bits));
  EXPECT_EQ(result("binary", Property::smooth).where, "from place 255 to 256");
  expect_pass(Property::smooth, {"integer", "sinusoidal", "rope", "alibi", "kerple"});
  expect_fail(Property::smooth, {"binary", "learned", "t5", "clipped-bias", "shaw"});
  expect_judged(Property::smooth, Judgement::does_not_apply, {"nope", "query-scales-log-n"});
}

// A row a place; for windows of 8 x 8 and 12 x 12, the smallest squares of 64 and 128 places, 15^2 and 23^2 numbers a
// head, or two rows of 15 and 23 vectors.
TEST(Properties, FixedRule) {
  EXPECT_EQ(number("learned", Property::fixed_rule), kChannels);
  EXPECT_EQ(number("grid-bias", Property::fixed_rule), (23.0 * 23 - 15 * 15) * kHeads / kTrainedPlaces);
  EXPECT_EQ(number("decomposed-hw", Property::fixed_rule), 2 * (23.0 - 15) * kHeadDim / kTrainedPlaces);
  expect_fail(Property::fixed_rule, {"learned", "grid-bias"});
  expect_pass(Property::fixed_rule, {"nope", "sinusoidal", "binary", "rope", "alibi", "t5", "fire", "shaw", "xlnet"});
}

// No new distance is nearer than a near one, or there is none; angles, integers and tables go where nothing was
// trained.
TEST(Properties, Generalises) {
  for (const char* scheme : {"nope", "alibi", "t5", "clipped-bias", "shaw"}) {
    EXPECT_EQ(number(scheme, Property::generalises), 0.0) << scheme;
  }
  EXPECT_EQ(number("learned", Property::generalises), std::numeric_limits<double>::infinity());
  EXPECT_EQ(result("learned", Property::generalises).where, "there is no place 64");
  expect_pass(Property::generalises,
              {"kerple", "sandwich", "self-extend", "dual-chunk", "rerope", "rope-linear", "rope-llama3", "fire"});
  expect_fail(Property::generalises, {"learned", "integer", "sinusoidal", "rope", "alibi-column", "grid-bias"});
  EXPECT_GT(number("integer", Property::generalises), number("sinusoidal", Property::generalises));
}

// Two coordinates side by side in half of the channels each: the nearest differ in one of them by one step.
TEST(Properties, Axes) {
  EXPECT_EQ(number("integer", Property::axes), std::sqrt(kChannels / 2));
  EXPECT_EQ(number("integer-normalised", Property::axes), std::sqrt(kChannels / 2) / 8);
  EXPECT_EQ(number("binary", Property::axes), 1.0);
  expect_pass(Property::axes, {"sinusoidal", "learned", "rope", "m-rope", "grid-bias", "decomposed-hw"});
  expect_fail(Property::axes, {"nope", "alibi", "t5", "shaw", "transformer-xl"});
}

TEST(Properties, Relative) {
  expect_pass(Property::relative, {"nope", "rope", "xpos", "rope-yarn", "rerope", "alibi", "t5", "kerple", "shaw",
                                   "transformer-xl", "deberta", "grid-bias", "decomposed-hw", "shaw-values"});
  // j alone; i / g and j / g rounded apart; over the query's place; what lies between.
  expect_fail(Property::relative, {"learned", "sinusoidal", "integer", "alibi-column", "self-extend", "dual-chunk",
                                   "fire", "contextual-position", "forget-gate", "query-scales-log-n"});
}

// YaRN's factor 0.1 ln s + 1 stands on queries and keys; LongRoPE's is sqrt(1 + ln 4 / ln 64) = sqrt(4/3); at place 511
// of 64 Qwen's scale is ln 512 / ln 64 = 9/6.
TEST(Properties, Isometry) {
  EXPECT_NEAR(number("rope-yarn", Property::isometry), std::pow(0.1 * std::log(4.0) + 1, 2) - 1,
              rotated_length_error(kHeadDim));
  EXPECT_NEAR(number("rope-longrope", Property::isometry), 1.0 / 3, rotated_length_error(kHeadDim));
  EXPECT_NEAR(number("query-scales-log-n", Property::isometry), 0.5, rotated_length_error(kHeadDim));
  EXPECT_EQ(number("nope", Property::isometry), 0.0);
  for (const char* scheme : {"rope", "rope-partial", "m-rope", "rope-llama3", "self-extend", "rotated-values"}) {
    EXPECT_LE(number(scheme, Property::isometry), rotated_length_error(kHeadDim)) << scheme;
  }
  expect_fail(Property::isometry, {"learned", "sinusoidal", "integer", "binary", "xpos", "rope-yarn", "shaw-values"});
  expect_judged(Property::isometry, Judgement::does_not_apply, {"alibi", "t5", "shaw", "deberta"});
}

TEST(Properties, Decay) {
  expect_pass(Property::decay, {"alibi", "alibi-symmetric", "kerple", "kerple-power", "sandwich", "forget-gate"});
  expect_fail(Property::decay, {"nope", "learned", "sinusoidal", "binary", "rope", "xpos", "t5", "shaw", "deberta"});
}

TEST(Properties, AreJudgedByTheirRules) {
  const auto rules = property_rules();
  ASSERT_EQ(std::ssize(rules), kProperties);
  for (const char* scheme : {"learned", "nope", "rope"}) {
    const std::vector<PropertyResult> found = measure_properties(scheme);
    ASSERT_EQ(std::ssize(found), kProperties);
    for (std::size_t n = 0; n < rules.size(); ++n) {
      EXPECT_EQ(rules[n].property, static_cast<Property>(n));
      EXPECT_EQ(found[n].property, rules[n].property);
      EXPECT_EQ(std::isnan(found[n].number), found[n].judgement == Judgement::does_not_apply) << scheme;
      const PropertyResult& alone = result(scheme, rules[n].property);
      EXPECT_EQ(found[n].judgement, alone.judgement);
      EXPECT_EQ(found[n].where, alone.where);
    }
  }
}

TEST(Properties, NamesAreTheirOwn) {
  std::vector<std::string> names;
  for (const MeasuredScheme& scheme : measured_schemes()) {
    names.push_back(scheme.name);
    EXPECT_FALSE(scheme.about.empty()) << scheme.name;
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(Properties, OfNoSuchScheme) {
  EXPECT_ERROR(measure_properties("RoPE"),
               "[measure_properties] scheme must be one of measured_schemes() but is 'RoPE'");
  EXPECT_ERROR(measure_property("", Property::decay),
               "[measure_property] scheme must be one of measured_schemes() but is ''");
}

}  // namespace
}  // namespace posenc::test::properties_test
