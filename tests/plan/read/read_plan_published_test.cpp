// Every resolved value of the families of published_configs.cpp: a layer is compared as a whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "plan/expected_plan.h"

namespace posenc::test::read_plan_published_test {
namespace {

// Its kind and words; other fields stay.
LayerPlan sparse(LayerPlan layer, std::string detail) {
  layer.mask.kind = MaskKind::sparse;
  layer.mask.beyond_window = layer.mask.by_blocks = true;
  layer.mask.detail = std::move(detail);
  return layer;
}

// OpenELM: the published class gives each layer its own heads, norms each head and then rotates halves.
std::vector<LayerPlan> openelm() {
  return {normed(half(attention(6, 3, 32), 2e4), kRms), normed(half(attention(8, 4, 32), 2e4), kRms)};
}

// Phi-3-small: positions are divided by 2, the scale is mup_attn_multiplier / head_dim; each second layer is dense.
std::vector<LayerPlan> phi3small() {
  const LayerPlan dense = scaled(half(attention(8, 2, 64), 1e6, LinearScaling{2}), 2.0 / 64);
  return {sparse(dense, "causal, in blocks of 32 keys: the 8 nearest blocks and each 4th, shifted by head"), dense};
}

std::vector<LayerPlan> rugpt3xl() {
  const LayerPlan dense = attention(8, 8, 32);
  return {
      sparse(dense, "causal, in blocks of 16 keys: the own group of 4 blocks and the last 2 of each group, by head"),
      dense};
}

LongRopeScaling longrope(std::vector<double> near, std::vector<double> far, std::int64_t original) {
  return {.short_factor = std::move(near),
          .long_factor = std::move(far),
          .original_max_position_embeddings = original,
          .factor = 4,
          .attention_factor = {},
          .short_mscale = {},
          .long_mscale = {}};
}

LayerPlan phimoe() {
  LongRopeScaling rule = longrope({1, 1, 1.5, 2}, {1, 4, 8, 16}, 4096);
  rule.short_mscale = 1.125;
  rule.long_mscale = 1.25;
  return windowed(half(attention(8, 2, 8), 2e4, std::move(rule)), 1023);
}

std::vector<Expected> all_expected() {
  return {
      {"openelm", 2048, openelm()},
      {"phi3small", 8192, phi3small()},
      {"rugpt3xl", 1024, rugpt3xl()},
      {"falcon_perception",
       4096,
       repeat(rotated(attention(8, 4, 64), Pairing::interleaved, 2e4, 32), 2),
       {"undecided"},
       false},
      {"yuan", 4096, repeat(half(attention(8, 8, 64), 1e4), 2)},
      {"phimoe", 16384, repeat(phimoe(), 2)},
      {"exaone", 32768, repeat(half(attention(8, 2, 64), 1e6, Llama3Scaling{8, 1, 4, 8192}), 2)},
      {"internlm2", 32768, repeat(half(attention(8, 2, 64), 1e6, DynamicScaling{2, 32768}), 2)},
      {"internlm3", 32768, repeat(half(attention(8, 2, 128), 5e7, DynamicScaling{6, 32768}), 2)},
      {"minicpm", 32768, repeat(half(attention(8, 2, 8), 2e4, longrope({1, 1.5, 2, 2.5}, {1, 3, 5, 7}, 8192)), 2)},
      {"bailing_moe", 16384, repeat(half(attention(8, 4, 96), 6e5), 2)},
      {"PanguEmbedded", 32768, repeat(half(attention(8, 2, 128), 1.6e7), 2)},
      {"mixformer-sequential", 2048, repeat(rotated(attention(8, 8, 64), Pairing::half, 1e4, 32), 2)},
      {"mimo", 32768, repeat(half(attention(8, 2, 128), 6.4e5), 2)},
      {"gpt_neox_reward_model", 2048, repeat(rotated(attention(8, 8, 128), Pairing::half, 2e4, 32), 2)},
  };
}

TEST(ReadPlanPublished, every_value_of_every_family) {
  for (const Expected& expected : all_expected()) expect_plan(expected);
}

TEST(ReadPlanPublished, every_config_has_an_expectation) {
  const std::vector<Expected> all = all_expected();
  for (const FamilyConfig& config : published_configs()) {
    EXPECT_NE(std::ranges::find(all, config.id, &Expected::id), all.end()) << config.id;
  }
}

TEST(ReadPlanPublished, rugpt_adds_a_table_and_the_others_nothing) {
  for (const FamilyConfig& config : published_configs()) {
    const std::vector<InputScheme> input = plan_of(config.text).stacks.at(0).input;
    const bool added = config.id == "rugpt3xl";
    EXPECT_EQ(input, added ? std::vector<InputScheme>{LearnedInput{.positions = 1024}} : std::vector<InputScheme>{})
        << config.id;
  }
}

}  // namespace
}  // namespace posenc::test::read_plan_published_test
