// Every rule, on both sides of every threshold, against numbers made with 60 digits by make_golden.py; and in float,
// bit for bit, against the same steps rounded to 24 bits there.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "posenc/rope.h"
#include "support/tolerances.h"

namespace posenc::golden_frequencies_test {
namespace {

struct Golden {
  const char* name;
  double attention_factor;
  std::vector<double> exact;
  std::vector<float> rounded;
};

const std::vector<Golden>& golden() {
  static const std::vector<Golden> rows{
#include "golden_frequencies.inc"
  };
  return rows;
}

struct Case {
  Rope rope;
  std::optional<std::int64_t> length = {};
};

Rope rope_of(std::int64_t dim, double base, Scaling scaling = {}) {
  return {.pairing = Pairing::half, .head_dim = dim, .dim = dim, .base = base, .scaling = std::move(scaling)};
}

Rope axial(std::int64_t dim, double base, std::vector<std::string> names, AxisFrequencies ladder) {
  Rope rope = rope_of(dim, base);
  rope.axes = axial_axes(std::move(names), dim / 2);
  rope.axis_frequencies = ladder;
  return rope;
}

Rope alternating(std::int64_t dim, double base, std::vector<std::string> names) {
  Rope rope = axial(dim, base, std::move(names), AxisFrequencies::per_axis);
  const auto axes = static_cast<std::int32_t>(rope.axes.names.size());
  for (std::size_t p = 0; p < rope.axes.of_pair.size(); ++p) {
    rope.axes.of_pair[p] = static_cast<std::int32_t>(p) % axes;
  }
  return rope;
}

Case dynamic(std::optional<std::int64_t> length) {
  return {rope_of(8, 1e4, DynamicScaling{.factor = 2, .max_position_embeddings = 64}), length};
}

Case qwen(std::int64_t length) { return {rope_of(8, 1e4, QwenNtkScaling{.seq_length = 8192}), length}; }

Case yarn(double factor, std::int64_t original, YarnScaling rest = {}) {
  rest.factor = factor;
  rest.original_max_position_embeddings = original;
  return {rope_of(16, 1e4, rest)};
}

Case longrope(double factor, std::optional<std::int64_t> length, LongRopeScaling rest = {}) {
  rest.short_factor = {1, 1.1, 1.2, 0.9};
  rest.long_factor = {1, 2.5, 8, 32};
  rest.original_max_position_embeddings = 4096;
  rest.factor = factor;
  return {rope_of(8, 1e4, rest), length};
}

// Enough divisors that are no powers of two to tell one order of roundings from another.
LongRopeScaling many_divisors() {
  return {.short_factor = std::vector<double>(12, 1.0),
          .long_factor = {1.07, 1.3, 1.9, 2.7, 3.3, 5.1, 7.7, 9.9, 13.3, 17.1, 21.7, 29.9},
          .original_max_position_embeddings = 4096,
          .factor = 32};
}

Case llama3(double factor, double low, double high) {
  return {rope_of(16, 5e5, Llama3Scaling{.factor = factor,
                                         .low_freq_factor = low,
                                         .high_freq_factor = high,
                                         .original_max_position_embeddings = 8192})};
}

Case proportional(std::int64_t dim, double part, double factor = 1) {
  return {rope_of(dim, 1e6, ProportionalScaling{.partial_rotary_factor = part, .factor = factor})};
}

const std::map<std::string, Case>& cases() {
  static const std::map<std::string, Case> all{
      {"default", {rope_of(12, 1e4)}},
      {"default_base_1", {rope_of(4, 1)}},
      {"per_axis_2", {axial(8, 1e4, {"h", "w"}, AxisFrequencies::per_axis)}},
      {"per_axis_3", {axial(12, 100, {"t", "h", "w"}, AxisFrequencies::per_axis)}},
      {"per_axis_alternating", {alternating(8, 1e4, {"w", "h"})}},
      {"strided_2", {axial(8, 1e4, {"h", "w"}, AxisFrequencies::strided)}},
      {"linear", {rope_of(8, 1e4, LinearScaling{3})}},
      {"linear_below_1", {rope_of(8, 1e4, LinearScaling{0.7})}},
      {"ntk", {rope_of(8, 1e4, NtkScaling{1000})}},
      {"ntk_below_1", {rope_of(8, 1e4, NtkScaling{0.5})}},
      {"dynamic_no_length", dynamic({})},
      {"dynamic_at_trained", dynamic(64)},
      {"dynamic_one_beyond", dynamic(65)},
      {"dynamic_far", dynamic(512)},
      {"qwen_at_trained", qwen(8192)},
      {"qwen_one_beyond", qwen(8193)},
      {"qwen_at_twice", qwen(16384)},
      {"qwen_beyond_twice", qwen(16385)},
      {"yarn", yarn(4, 2048)},
      {"yarn_not_truncated",
       {rope_of(16, 150000, YarnScaling{.factor = 32, .original_max_position_embeddings = 4096, .truncate = false})}},
      {"yarn_zero_betas", yarn(4, 2048, {.beta_fast = 0, .beta_slow = 0})},
      {"yarn_custom_betas", yarn(4, 2048, {.beta_fast = 16, .beta_slow = 2})},
      {"yarn_equal_range", yarn(4, 2048, {.beta_fast = 7, .beta_slow = 7, .truncate = false})},
      // c(10.3134) = 2.9995: pair 3 is halfway up the ramp of 0.001.
      {"yarn_pair_within_equal_range", yarn(4, 2048, {.beta_fast = 10.3134, .beta_slow = 10.3134, .truncate = false})},
      {"yarn_low_clamped", yarn(4, 64)},
      {"yarn_high_clamped", {rope_of(8, 10, YarnScaling{.factor = 4, .original_max_position_embeddings = 4096})}},
      {"yarn_range_turned_by_clamp",
       {rope_of(8, 2, YarnScaling{.factor = 4, .original_max_position_embeddings = 4096})}},
      {"yarn_mscale_pair", yarn(40, 4096, {.mscale = 0.707, .mscale_all_dim = 1})},
      {"yarn_lone_mscale", yarn(40, 4096, {.mscale = 0.707})},
      {"yarn_mscale_all_dim_zero", yarn(64, 4096, {.mscale = 1, .mscale_all_dim = 0})},
      {"yarn_attention_factor", yarn(4, 2048, {.attention_factor = 0.5, .mscale = 0.707, .mscale_all_dim = 1})},
      {"yarn_factor_below_1", yarn(0.5, 2048)},
      {"longrope_no_length", longrope(32, {})},
      {"longrope_at_original", longrope(32, 4096)},
      {"longrope_one_beyond", longrope(32, 4097)},
      {"longrope_factor_1", longrope(1, 4096)},
      {"longrope_attention_factor", longrope(32, 5000, {.attention_factor = 0.5})},
      {"longrope_short_mscale", longrope(32, 4096, {.attention_factor = 0.5, .short_mscale = 1.1, .long_mscale = 1.3})},
      {"longrope_long_mscale", longrope(32, 4097, {.attention_factor = 0.5, .short_mscale = 1.1, .long_mscale = 1.3})},
      {"longrope_many", {rope_of(24, 1e4, many_divisors()), 4097}},
      {"llama3_many", {rope_of(64, 5e5, Llama3Scaling{.factor = 7, .original_max_position_embeddings = 8192})}},
      {"llama3", llama3(8, 1, 4)},
      {"llama3_low_equals_high", llama3(16, 1, 1)},
      {"proportional", proportional(16, 0.25)},
      {"proportional_rounded_down", proportional(10, 0.3)},
      {"proportional_factor", proportional(16, 0.5, 8)},
      {"proportional_none", proportional(8, 0)},
      {"proportional_all", proportional(8, 1)},
      {"factors", {rope_of(8, 5e5, FactorListScaling{{1, 1, 2.7, 1e30}})}},
  };
  return all;
}

// The base after the rule; an NTK rule's is read off the second pair: base' = inv_freq[1]^(-dim/2).
double base_of(const Rope& rope, const Golden& row) {
  const bool changed = std::holds_alternative<NtkScaling>(rope.scaling) ||
                       std::holds_alternative<DynamicScaling>(rope.scaling) ||
                       std::holds_alternative<QwenNtkScaling>(rope.scaling);
  return changed ? std::pow(row.exact[1], -static_cast<double>(rope.dim) / 2) : rope.base;
}

TEST(GoldenFrequencies, EveryRowHasItsCase) {
  EXPECT_EQ(golden().size(), cases().size());
  for (const Golden& row : golden()) EXPECT_TRUE(cases().contains(row.name)) << row.name;
}

TEST(GoldenFrequencies, ExactArithmeticIsTheTruthToRounding) {
  test::ErrorRatio ratio("exact frequencies");
  for (const Golden& row : golden()) {
    const auto& [rope, length] = cases().at(row.name);
    const Frequencies got = frequencies(rope, length);
    ASSERT_EQ(got.inv_freq.size(), row.exact.size()) << row.name;
    const double bound = test::exact_frequency_bound(rope, base_of(rope, row));
    for (std::size_t p = 0; p < row.exact.size(); ++p) {
      if (row.exact[p] == 0) {
        EXPECT_EQ(got.inv_freq[p], 0) << row.name << " pair " << p;
        continue;
      }
      ratio.add(std::abs(got.inv_freq[p] / row.exact[p] - 1), bound, row.name);
    }
  }
  ratio.expect();
}

TEST(GoldenFrequencies, AttentionFactors) {
  for (const Golden& row : golden()) {
    const auto& [rope, length] = cases().at(row.name);
    EXPECT_NEAR(frequencies(rope, length).attention_factor / row.attention_factor, 1, test::kAttentionFactor)
        << row.name;
  }
}

TEST(GoldenFrequencies, FloatArithmeticRoundsEachStepInHuggingFacesOrder) {
  for (const Golden& row : golden()) {
    const auto& [rope, length] = cases().at(row.name);
    const Frequencies got = frequencies(rope, length, Arithmetic::float32);
    ASSERT_EQ(got.inv_freq.size(), row.rounded.size()) << row.name;
    for (std::size_t p = 0; p < row.rounded.size(); ++p) {
      EXPECT_EQ(got.inv_freq[p], static_cast<double>(row.rounded[p])) << row.name << " pair " << p;
    }
  }
}

}  // namespace
}  // namespace posenc::golden_frequencies_test
