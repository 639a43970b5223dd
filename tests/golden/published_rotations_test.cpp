// Rotations and tables by their schemes: keras-hub's literals, the statistics of torchtune's Llama 3 table, and the
// tables that stories260K.bin carries. torchtune's other statistics are of numbers from torch's generator, which only
// torch can make.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "golden/published_rotation.h"
#include "math/config_to_rope.h"
#include "support/ropes.h"
#include "support/test_data.h"

namespace posenc::test::published_rotations_test {
namespace {

constexpr const char* kKeras = "golden/rope_apply/keras_hub_rotary_embedding_test.json";
constexpr const char* kTorchtune = "golden/rope_apply/torchtune_summary_statistics.json";
constexpr const char* kStories = "golden/llama2c/stories260K_freq_cis.json";

// x [heads, head_dim] of a token at `position`, against `expected`; `printed` is what was lost in print.
void expect_rotated(const Rope& rope, std::int64_t position, const std::vector<double>& x,
                    const std::vector<double>& expected, double printed, ErrorRatio& ratio) {
  ASSERT_EQ(x.size(), expected.size());
  const auto heads = static_cast<std::int64_t>(x.size()) / rope.head_dim;
  const double largest =
      std::abs(*std::max_element(x.begin(), x.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }));
  const double fastest = frequencies(rope).inv_freq.at(0);
  const double bound = printed + published_rotation_bound(largest, 1.0, 0.0) +
                       2 * largest * float_cos_sin_bound(rope, fastest * static_cast<double>(position));
  std::vector<double> got(x.size());
  (void)reference::rotate(rope, {.out = tensor(got.data(), {1, heads, rope.head_dim}),
                                 .x = tensor(x.data(), {1, heads, rope.head_dim}),
                                 .positions = PositionRange{position}});
  for (std::size_t i = 0; i < x.size(); ++i) ratio.add(std::abs(got[i] - expected[i]), bound, "reference");
  const RotaryTable table = make_table(rope, {.start = position, .count = 1});
  for (const Isa isa : supported_isas()) {
    std::vector<float> floats(x.begin(), x.end());
    (void)rotate({.q = tensor(floats.data(), {1, heads, rope.head_dim}),
                  .positions = PositionRange{position},
                  .table = &table,
                  .isa = isa});
    for (std::size_t i = 0; i < x.size(); ++i) {
      ratio.add(std::abs(static_cast<double>(floats[i]) - expected[i]), bound, name(isa));
    }
  }
}

std::vector<double> heads_of(const Json& heads) {
  std::vector<double> all;
  for (const Json& head : heads.GetArray()) {
    for (const double channel : numbers(head)) all.push_back(channel);
  }
  return all;
}

const Json& case_named(const rapidjson::Document& document, std::string_view name) {
  for (const Json& one : document["cases"].GetArray()) {
    if (one["name"].GetString() == name) return one;
  }
  ADD_FAILURE() << "no case " << name;
  return document["cases"][0];
}

TEST(PublishedRotations, KerasHubInFourDecimals) {
  POSENC_NEED_DATA(kKeras);
  const auto document = read_json(test_data() / kKeras);
  const Json& expected = case_named(document, "test_output_correct_values")["expected"];
  every_isa("keras-hub, four decimals");
  ErrorRatio ratio("keras-hub, four decimals");
  const std::vector<double> ones(6, 1.0);
  expect_rotated(plain_rope(6), 0, ones, numbers(expected["position 0"]), printed_decimals(4), ratio);
  expect_rotated(plain_rope(6), 3, ones, numbers(expected["position 3"]), printed_decimals(4), ratio);
  ratio.expect();
}

TEST(PublishedRotations, KerasHubWithLinearScaling) {
  POSENC_NEED_DATA(kKeras);
  const auto document = read_json(test_data() / kKeras);
  every_isa("keras-hub, linear scaling");
  ErrorRatio ratio("keras-hub, linear scaling");
  const std::vector<double> ones(8, 1.0);
  const Json& sequence = case_named(document, "test_rope_scaling")["expected"][0];
  ASSERT_EQ(sequence.Size(), 3U);
  for (rapidjson::SizeType t = 0; t < sequence.Size(); ++t) {
    expect_rotated(plain_rope(4, 10000.0, LinearScaling{2.0}), t, ones, heads_of(sequence[t]), printed_decimals(9),
                   ratio);
  }
  const Json& cached = case_named(document, "test_rope_scaling_with_kv_cache")["expected"][0];
  expect_rotated(plain_rope(4, 10000.0, LinearScaling{5.0}), 12, ones, heads_of(cached[0]), printed_decimals(9), ratio);
  ratio.expect();
}

// The file says which generator made the input, not what it made; these are the sixteen numbers of the row at
// position 1: numpy.random.default_rng(0).standard_normal((2, 2, 1, 16))[1, 1, 0], as float32.
TEST(PublishedRotations, KerasHubOfRandomNumbers) {
  POSENC_NEED_DATA(kKeras);
  const auto document = read_json(test_data() / kKeras);
  const std::vector<double> x{1.80163491,   1.31510377,  0.35738042,  -1.20831859, -0.0044541331, 0.656474948,
                              -1.28836143,  0.395122051, 0.429863691, 0.696042717, -1.18411791,   -0.661702573,
                              -0.436435252, -1.16980195, 1.73936784,  -0.495910734};
  const Json& expected = case_named(document, "test_positions_2d_array")["expected"];
  every_isa("keras-hub, random numbers");
  ErrorRatio ratio("keras-hub, random numbers");
  // Printed with eight or nine digits: floats in full.
  expect_rotated(plain_rope(16), 1, x, heads_of(expected[1][1]), 0.0, ratio);
  ratio.expect();
}

TEST(PublishedRotations, TorchtuneTableOfLlama3) {
  POSENC_NEED_DATA(kTorchtune);
  const auto document = read_json(test_data() / kTorchtune);
  const Json& published = document["cases"][1];  // its base is the class's default, 10000, not Llama 3's
  const Rope rope = plain_rope(128, 10000.0, Llama3Scaling{8.0, 1.0, 4.0, 8192});
  constexpr std::int64_t kPositions = 4096;
  for (const Isa isa : every_isa("torchtune's table")) {
    const RotaryTable table = make_table(rope, {.count = kPositions, .angles = Angles::float32, .isa = isa});
    double sum = 0;
    double magnitudes = 0;
    double most = 0;
    for (const float value : table.rows()) {
      sum += static_cast<double>(value);
      magnitudes += std::abs(static_cast<double>(value));
      most = std::max(most, static_cast<double>(value));
    }
    EXPECT_NEAR(sum / static_cast<double>(table.rows().size()), published["cache_mean"].GetDouble(),
                printed_decimals(4))
        << name(isa);
    EXPECT_NEAR(sum, published["cache_sum"].GetDouble(), table_sum_bound(rope, kPositions, magnitudes)) << name(isa);
    EXPECT_EQ(most, published["cache_max"].GetDouble()) << name(isa);
  }
}

TEST(PublishedRotations, TablesOfStories260K) {
  POSENC_NEED_DATA(kStories);
  const auto document = read_json(test_data() / kStories);
  const Rope rope{.pairing = Pairing::interleaved,
                  .head_dim = *integer(document, "head_size"),
                  .dim = *integer(document, "head_size"),
                  .base = *number(document, "theta")};
  const std::int64_t length = *integer(document, "seq_len");
  const std::vector<double> inv_freq = frequencies(rope).inv_freq;
  ErrorRatio ratio("freq_cis of stories260K");
  for (const Isa isa : every_isa("freq_cis of stories260K")) {
    const RotaryTable table = make_table(rope, {.count = length, .angles = Angles::float32, .isa = isa});
    for (std::int64_t t = 0; t < length; ++t) {
      const auto row = static_cast<rapidjson::SizeType>(t);
      const std::vector<double> cos = numbers(document["cos[pos][i]"][row]);
      const std::vector<double> sin = numbers(document["sin[pos][i]"][row]);
      ASSERT_EQ(cos.size(), inv_freq.size());
      for (std::size_t p = 0; p < cos.size(); ++p) {
        const double bound = float_cos_sin_bound(rope, inv_freq[p] * static_cast<double>(t));
        ratio.add(std::abs(static_cast<double>(table.cos(t)[p]) - cos[p]), bound, name(isa));
        ratio.add(std::abs(static_cast<double>(table.sin(t)[p]) - sin[p]), bound, name(isa));
      }
    }
  }
  ratio.expect();
}

}  // namespace
}  // namespace posenc::test::published_rotations_test
