// Frequencies that other people published: 32 cases dumped from transformers 5.19.0, the literals and relations of
// transformers' own tests, and the numbers printed in the documents this project began with.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "math/config_to_rope.h"
#include "posenc/rope.h"
#include "support/test_data.h"
#include "support/tolerances.h"

namespace posenc::published_frequencies_test {
namespace {

constexpr const char* kDumped = "golden/hf_rope_reference/pmetal_rope_scaling_reference.json";
constexpr const char* kLiterals = "golden/hf_rope_reference/transformers_test_modeling_rope_utils.json";
constexpr const char* kSeeds = "golden/seeds.json";

std::string label(const test::Json& one) {
  const auto reach = test::integer(one, "reach");
  return std::string(one["name"].GetString()) + " at " + (reach ? std::to_string(*reach) : "no length");
}

TEST(PublishedFrequencies, ThirtyTwoDumpedCasesInDouble) {
  POSENC_NEED_DATA(kDumped);
  const auto document = test::read_json(test::test_data() / kDumped);
  test::ErrorRatio frequency("dumped inv_freq, double");
  ASSERT_EQ(document["cases"].Size(), 32U);
  for (const test::Json& one : document["cases"].GetArray()) {
    const Frequencies got = frequencies(test::config_rope(one["config"]), test::integer(one, "reach"));
    const std::vector<double> expected = test::numbers(one["inv_freq"]);
    ASSERT_EQ(got.inv_freq.size(), expected.size()) << label(one);
    for (std::size_t p = 0; p < expected.size(); ++p) {
      if (expected[p] == 0) {
        EXPECT_EQ(got.inv_freq[p], 0) << label(one);
      } else {
        frequency.add(std::abs(got.inv_freq[p] / expected[p] - 1), test::kDumpedFrequency, label(one));
      }
    }
    EXPECT_NEAR(got.attention_factor / one["attention_factor"].GetDouble(), 1, test::kAttentionFactor) << label(one);
  }
  frequency.expect();
}

// How many floats apart two positive floats are.
int ulps_apart(float a, float b) {
  int steps = 0;
  for (; a != b && steps < 100; ++steps) a = std::nextafter(a, b);
  return steps;
}

TEST(PublishedFrequencies, ThirtyTwoDumpedCasesInFloat) {
  POSENC_NEED_DATA(kDumped);
  const auto document = test::read_json(test::test_data() / kDumped);
  test::ErrorRatio ratio("dumped inv_freq, float");
  int equal_cases = 0;
  int equal = 0;
  int all = 0;
  int worst = 0;
  for (const test::Json& one : document["cases"].GetArray()) {
    const Rope rope = test::config_rope(one["config"]);
    const Frequencies got = frequencies(rope, test::integer(one, "reach"), Arithmetic::float32);
    const std::vector<double> expected = test::numbers(one["inv_freq"]);
    ASSERT_EQ(got.inv_freq.size(), expected.size()) << label(one);
    int different = 0;
    for (std::size_t p = 0; p < expected.size(); ++p) {
      const auto mine = static_cast<float>(got.inv_freq[p]);
      ASSERT_EQ(static_cast<double>(mine), got.inv_freq[p]) << label(one) << ": not a float";
      const int ulps = ulps_apart(mine, static_cast<float>(expected[p]));
      different += ulps != 0 ? 1 : 0;
      worst = std::max(worst, ulps);
      if (expected[p] != 0) {
        ratio.add(std::abs(got.inv_freq[p] / expected[p] - 1), test::float_frequency_bound(rope), label(one));
      }
    }
    all += static_cast<int>(expected.size());
    equal += static_cast<int>(expected.size()) - different;
    equal_cases += different == 0 ? 1 : 0;
  }
  std::printf("[  float   ] %d of 32 cases and %d of %d frequencies bit-equal to torch's, worst %d ulp\n", equal_cases,
              equal, all, worst);
  ratio.expect();
}

// Their own tolerance says nothing about the slow pairs; that five digits of a float are printed says something about
// each.
TEST(PublishedFrequencies, LiteralsOfTransformersTests) {
  POSENC_NEED_DATA(kLiterals);
  const auto document = test::read_json(test::test_data() / kLiterals);
  ASSERT_EQ(document["cases"].Size(), 4U);
  for (const test::Json& one : document["cases"].GetArray()) {
    const std::string name = one["name"].GetString();
    const Frequencies got = frequencies(test::config_rope(one["config"]), test::integer(one, "seq_len"));
    const std::vector<double> expected = test::numbers(one["inv_freq"]);
    ASSERT_EQ(got.inv_freq.size(), expected.size()) << name;
    for (std::size_t p = 0; p < expected.size(); ++p) {
      EXPECT_NEAR(got.inv_freq[p], expected[p], test::kTransformersTests) << name << " pair " << p;
      EXPECT_NEAR(got.inv_freq[p], expected[p],
                  test::printed_digits(expected[p], 5) + test::kDumpedFrequency * expected[p])
          << name << " pair " << p;
    }
    if (const auto factor = test::number(one, "attention_factor")) {
      EXPECT_EQ(got.attention_factor, *factor) << name;
    }
  }
}

// The relations that transformers' tests assert, on its LlamaConfig: 4096 / 32 channels, 2048 positions.
Rope llama(Scaling scaling) {
  return {.pairing = Pairing::half, .head_dim = 128, .dim = 128, .base = 1e4, .scaling = std::move(scaling)};
}

std::vector<double> divided(std::vector<double> values, const std::vector<double>& divisors) {
  for (std::size_t p = 0; p < values.size(); ++p) values[p] /= divisors[p];
  return values;
}

void expect_close(const std::vector<double>& got, const std::vector<double>& expected, std::size_t from = 0) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t p = from; p < got.size(); ++p) {
    EXPECT_NEAR(got[p] / expected[p], 1, test::kSameFrequency) << "pair " << p;
  }
}

class TransformersRelations : public testing::TestWithParam<double> {
 protected:
  const std::vector<double> plain = frequencies(llama({})).inv_freq;
  const std::vector<double> factor = std::vector<double>(64, GetParam());
};

TEST_P(TransformersRelations, LinearDividesByTheFactor) {
  const Frequencies got = frequencies(llama(LinearScaling{GetParam()}));
  expect_close(got.inv_freq, divided(plain, factor));
  EXPECT_EQ(got.attention_factor, 1);
}

TEST_P(TransformersRelations, DynamicLeavesShortSequencesAlone) {
  const Rope rope = llama(DynamicScaling{GetParam(), 2048});
  EXPECT_EQ(frequencies(rope).inv_freq, plain);
  EXPECT_EQ(frequencies(rope, 1).inv_freq, plain);
  EXPECT_NE(frequencies(rope, 2049).inv_freq, plain);
}

TEST_P(TransformersRelations, LongRope) {
  std::vector<double> long_factor(64);
  std::iota(long_factor.begin(), long_factor.end(), 1.0);
  LongRopeScaling rule{.short_factor = std::vector<double>(64, 2.0),
                       .long_factor = long_factor,
                       .original_max_position_embeddings = 2048,
                       .factor = GetParam()};
  const double attention_factor = std::sqrt(1 + std::log(GetParam()) / std::log(2048.0));
  EXPECT_NEAR(frequencies(llama(rule)).attention_factor / attention_factor, 1, test::kAttentionFactor);
  expect_close(frequencies(llama(rule)).inv_freq, divided(plain, rule.short_factor));
  expect_close(frequencies(llama(rule), 2049).inv_freq, divided(plain, long_factor));
  rule.attention_factor = 0.5;
  EXPECT_EQ(frequencies(llama(rule)).attention_factor, 0.5);
}

INSTANTIATE_TEST_SUITE_P(Factors, TransformersRelations, testing::Values(2.0, 10.0, 20.0));

TEST(PublishedFrequencies, YarnWithBetaFast1000InterpolatesTheLastTwenty) {
  const Rope rope = llama(YarnScaling{.factor = 10, .original_max_position_embeddings = 2048, .beta_fast = 1000});
  const std::vector<double> plain = frequencies(llama({})).inv_freq;
  expect_close(frequencies(rope).inv_freq, divided(plain, std::vector<double>(64, 10)), 64 - 20);
}

TEST(Seeds, FreqsCis) {
  POSENC_NEED_DATA(kSeeds);
  const auto document = test::read_json(test::test_data() / kSeeds);
  const test::Json& seed = document["freqs_cis"];
  const std::int64_t dim = seed["dim"].GetInt64();
  const std::vector<double> inv_freq =
      frequencies({.pairing = Pairing::interleaved, .head_dim = dim, .dim = dim, .base = seed["theta"].GetDouble()})
          .inv_freq;
  ASSERT_EQ(seed["positions"].Size(), 3U);
  for (rapidjson::SizeType row = 0; row < 3; ++row) {
    const double position = seed["positions"][row].GetDouble();
    const std::vector<double> cos = test::numbers(seed["cos"][row]);
    const std::vector<double> sin = test::numbers(seed["sin"][row]);
    for (std::size_t p = 0; p < inv_freq.size(); ++p) {
      // cos(0.01) = 0.99995000042 was rounded to the float below 0.99995 before it was printed as 0.9999.
      const double tolerance = test::printed_decimals(4) + test::kFloatRounding;
      EXPECT_NEAR(std::cos(position * inv_freq[p]), cos[p], tolerance);
      EXPECT_NEAR(std::sin(position * inv_freq[p]), sin[p], tolerance);
    }
  }
}

}  // namespace
}  // namespace posenc::published_frequencies_test
