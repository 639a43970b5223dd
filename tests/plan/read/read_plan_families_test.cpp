// Every resolved value of every family, on our own small configs: a layer is compared as a whole.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "plan/expected_plan.h"

namespace posenc::test::read_plan_families_test {
namespace {

// Latent attention: the 64 channels after the first 128 rotate.
LayerPlan latent(std::int64_t heads, std::int64_t value_dim, Pairing pairing, double base, Scaling scaling,
                 double scale) {
  LayerPlan layer = rotated(attention(heads, heads, 192), pairing, base, 64, std::move(scaling));
  layer.value_dim = value_dim;
  layer.softmax_scale = scale;
  std::get<Rope>(layer.rotate[0].scheme).first_channel = 128;
  return layer;
}

YarnScaling deepseek_yarn(double mscale) {
  return {.factor = 40,
          .original_max_position_embeddings = 4096,
          .attention_factor = {},
          .beta_fast = 32.0,
          .beta_slow = 1.0,
          .mscale = mscale,
          .mscale_all_dim = mscale,
          .truncate = true};
}

// (0.1 m ln 40 + 1)^2 / sqrt 192
double deepseek_scale(double mscale) {
  const double g = 0.1 * mscale * std::log(40.0) + 1;
  return g * g / std::sqrt(192.0);
}

std::vector<Expected> expected_llama() {
  const LayerPlan plain = attention(8, 8, 64);
  return {
      {"llama", 4096, repeat(half(attention(8, 2, 64), 5e5), 3)},
      {"llama linear", 8192, repeat(half(plain, 1e4, LinearScaling{2}), 2)},
      {"llama dynamic", 2048, repeat(half(plain, 1e4, DynamicScaling{4, 2048}), 2)},
      {"llama yarn", 16384, repeat(half(plain, 1e4, YarnScaling{4, 4096, 1.25, 16.0, 2.0, 0.7, 0.8, false}), 2)},
      {"llama llama3", 131072, repeat(half(plain, 5e5, Llama3Scaling{32, 1, 4, 8192}), 2)},
      {"llama longrope", 16384,
       repeat(half(attention(8, 8, 8), 1e4, LongRopeScaling{{1, 1.5, 2, 2.5}, {1, 4, 8, 16}, 4096, 4, 1.5, {}, {}}),
              2)},
      {"llama v5", 16384, repeat(half(plain, 1e6, ProportionalScaling{0.25, 2}), 2)},
  };
}

std::vector<Expected> expected_windows() {
  const LayerPlan plain = half(attention(8, 4, 64), 1e6);
  LayerPlan chunks = plain;
  chunks.regions = DualChunk{.chunk = 3072, .local = 1025, .trained = 4097};
  const LayerPlan qwen3 = normed(half(attention(8, 4, 128), 1e6), kRms);
  LayerPlan gemma2 = scaled(half(attention(8, 4, 256), 1e4), 1.0 / 12);
  gemma2.soft_cap = SoftCap{50, SoftCap::Order::after_bias};
  const LayerPlan gemma3 = normed(scaled(attention(4, 1, 256), 0.125), kRms);
  const LayerPlan local = windowed(half(gemma3, 1e4), 511);
  const LayerPlan global = half(gemma3, 1e6, LinearScaling{8});
  const LayerPlan gemma3_both = both_ways(normed(attention(4, 1, 256), kRms));
  return {
      {"mistral", 32768, repeat(windowed(half(attention(8, 4, 64), 1e4), 4095), 2)},
      {"mixtral", 32768, repeat(plain, 2)},
      {"qwen2", 32768, {plain, plain, plain, windowed(plain, 1023)}},
      {"qwen2 listed", 32768, {windowed(both_ways(plain), 1024, 1024), both_ways(plain)}},
      {"qwen2 chunks", 32768, repeat(chunks, 2)},
      {"qwen2_moe", 32768, {windowed(plain, 1023), plain, plain, plain}},
      {"qwen3", 40960, repeat(qwen3, 2)},
      {"qwen3_moe", 40960, repeat(windowed(qwen3, 511), 2)},
      {"gemma", 8192, repeat(half(attention(8, 1, 256), 1e4), 2)},
      {"gemma2", 8192, {windowed(gemma2, 4095), gemma2, windowed(gemma2, 4095)}},
      {"gemma3", 32768, {local, local, global, local, local, global, local}},
      {"gemma3 v5", 32768, {windowed(half(gemma3_both, 1e4), 256, 256), half(gemma3_both, 1e6, LinearScaling{8})}},
  };
}

std::vector<Expected> expected_partial() {
  LayerPlan phi3 = rotated(attention(8, 8, 8), Pairing::half, 1e4, 6,
                           LongRopeScaling{{1, 1, 1.5}, {1, 8, 32}, 4096, 32, {}, {}, {}});
  const LayerPlan glm = rotated(attention(8, 2, 128), Pairing::interleaved, 1e4, 64);
  return {
      {"phi", 2048, repeat(normed(rotated(attention(8, 8, 80), Pairing::half, 1e4, 32), kLayerNorm), 2)},
      {"phi3", 131072, repeat(windowed(phi3, 2046), 2)},
      {"gpt_neox", 2048, repeat(rotated(attention(8, 8, 64), Pairing::half, 25000, 16), 2)},
      {"gptj", 1024, repeat(rotated(attention(8, 8, 256), Pairing::interleaved, 1e4, 64), 2)},
      {"stablelm", 4096, repeat(normed(rotated(attention(8, 8, 80), Pairing::half, 1e4, 20), kLayerNorm), 2)},
      {"chatglm", 8192, repeat(rotated(attention(8, 2, 128), Pairing::interleaved, 5e6, 64), 2)},
      {"glm", 131072, repeat(glm, 2)},
      {"glm4", 32768, repeat(glm, 2)},
      {"glm4_moe", 131072, repeat(normed(rotated(attention(8, 2, 128), Pairing::half, 1e6, 64), kRms), 2)},
  };
}

std::vector<Expected> expected_rest() {
  const LayerPlan cohere2 = attention(8, 8, 64);
  const LayerPlan cohere2_local = windowed(interleaved(cohere2, 5e4), 4095);
  const LayerPlan olmo3 = normed(attention(8, 8, 64), kRmsAcross);
  const LayerPlan olmo3_local = windowed(half(olmo3, 5e5), 4095);  // rope_theta is for full layers
  const LayerPlan smollm3 = half(attention(8, 4, 64), 5e6);
  const LayerPlan smollm3_still = attention(8, 4, 64);
  const LayerPlan exaone_full = normed(attention(8, 2, 128), kRms);
  const LayerPlan exaone_local = windowed(half(exaone_full, 1e6), 4095);
  LayerPlan llama4 = interleaved(attention(8, 2, 128), 5e5);
  llama4.qk_norm = QkNorm{QkNorm::Kind::rms, QkNorm::Order::after, false, QkNorm::Over::head};
  llama4.mask.chunk = 8192;
  LayerPlan llama4_still = attention(8, 2, 128);
  llama4_still.query_scale = Llama4Temperature{0.2, 4096};
  LayerPlan gpt_oss = half(attention(64, 8, 64), 1.5e5, YarnScaling{32, 4096, {}, 32.0, 1.0, {}, {}, false});
  gpt_oss.sinks = true;
  const LayerPlan gpt_oss_local = windowed(gpt_oss, 127);
  return {
      {"cohere", 8192, repeat(normed(interleaved(attention(8, 8, 64), 8e6), kLayerNorm), 2)},
      {"cohere2", 131072, {cohere2_local, cohere2, cohere2_local, cohere2}},
      {"deepseek_v2", 163840,
       repeat(latent(16, 96, Pairing::interleaved, 1e4, deepseek_yarn(0.707), deepseek_scale(0.707)), 2)},
      {"deepseek_v3", 163840, repeat(latent(16, 128, Pairing::half, 1e4, deepseek_yarn(1), deepseek_scale(1)), 2)},
      {"kimi_k2", 131072, repeat(latent(64, 128, Pairing::interleaved, 5e4, {}, 1 / std::sqrt(192.0)), 2)},
      {"olmo", 2048, repeat(half(attention(8, 8, 64), 1e4), 2)},
      {"olmo2", 4096, repeat(normed(half(attention(8, 8, 64), 5e5), kRmsAcross), 2)},
      {"olmo3",
       65536,
       {olmo3_local, olmo3_local, olmo3_local, half(olmo3, 4e5, YarnScaling{8, 8192, {}, {}, {}, {}, {}, true})}},
      {"olmoe", 4096, repeat(normed(half(attention(8, 8, 64), 1e4), kRmsAcross), 2)},
      {"granitemoe", 4096, repeat(scaled(half(attention(8, 2, 64), 1e4), 0.015625), 2)},
      {"granite", 131072, repeat(scaled(half(attention(8, 2, 64), 1e7), 0.0078125), 2)},
      {"smollm3", 65536, {smollm3, windowed(smollm3_still, 511), smollm3}},
      {"smollm3 interval", 65536, {smollm3, smollm3_still, smollm3, smollm3_still}},
      {"exaone4", 131072, {exaone_local, exaone_local, exaone_full, exaone_local, exaone_local, exaone_full}},
      {"exaone4 without a window", 65536, repeat(normed(half(attention(8, 2, 64), 1e6), kRms), 2)},
      {"llama4", 10485760, {llama4, llama4, llama4, llama4_still}},
      {"gpt_oss", 131072, {gpt_oss_local, gpt_oss, gpt_oss, gpt_oss_local}},
  };
}

std::vector<Expected> all_expected() {
  std::vector<Expected> all;
  for (auto part : {expected_llama(), expected_windows(), expected_partial(), expected_rest()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST(ReadPlanFamilies, every_value_of_every_family) {
  for (const Expected& expected : all_expected()) expect_plan(expected);
}

TEST(ReadPlanFamilies, every_config_has_an_expectation) {
  const std::vector<Expected> all = all_expected();
  for (const FamilyConfig& config : rotary_configs()) {
    EXPECT_NE(std::ranges::find(all, config.id, &Expected::id), all.end()) << config.id;
  }
}

// g(40, 1)^2 / sqrt 192, as the plan contract prints it.
TEST(ReadPlanFamilies, deepseek_v3_scale_is_the_published_one) {
  EXPECT_NEAR(layer_of(plan_of(family_config("deepseek_v3")), 0).softmax_scale, 0.135234, 5e-7);
}

TEST(ReadPlanFamilies, a_class_name_stands_in_for_a_missing_model_type) {
  const Plan plan = plan_of(with(family_config("glm4"), R"("model_type": "glm4", )", ""));
  EXPECT_EQ(plan.family, "glm4");
  EXPECT_EQ(plan.model_type, "");
  EXPECT_EQ(rope_of(plan).dim, 64);
}

// Its eager attention stays causal where the switch is true, and its SDPA without a mask does not.
TEST(ReadPlanFamilies, gemmas_switch_to_both_ways_is_undecided) {
  const Plan plan =
      plan_of(with(family_config("gemma"), R"("rope_theta")", R"("use_bidirectional_attention": true, "rope_theta")"));
  EXPECT_FALSE(plan.known);
}

// GPT-NeoX's rotation reads a width of heads, and its heads do not.
TEST(ReadPlanFamilies, a_width_of_heads_that_gpt_neox_reads_by_half_is_undecided) {
  const auto with_width = [](std::string_view width) {
    return with(family_config("gpt_neox"), R"("num_attention_heads")",
                R"("head_dim": )" + std::string(width) + R"(, "num_attention_heads")");
  };
  const std::int64_t own = layer_of(plan_of(family_config("gpt_neox")), 0).head_dim;
  EXPECT_TRUE(plan_of(with_width(std::to_string(own))).known);
  EXPECT_FALSE(plan_of(with_width(std::to_string(2 * own))).known);
}

// A class without windows: its masks have none, and a cache made of the configuration drops what is farther away.
TEST(ReadPlanFamilies, a_window_that_only_the_cache_knows_is_undecided) {
  for (std::string_view key : {"sliding_window", "attention_chunk_size"}) {
    const std::string text = R"({"model_type": "llama", "num_hidden_layers": 1, ")" + std::string(key) + R"(": )";
    EXPECT_FALSE(plan_of(text + "512}").known) << key;
    EXPECT_TRUE(plan_of(text + "null}").known) << key;
  }
}

TEST(ReadPlanFamilies, deepseek_without_latent_attention_is_plain) {
  const Plan plan = plan_of(R"({"model_type": "deepseek_v2", "use_mla": false, "hidden_size": 1280,
    "num_attention_heads": 10, "num_key_value_heads": 10, "num_hidden_layers": 1, "qk_nope_head_dim": 0,
    "qk_rope_head_dim": 0, "v_head_dim": 0})");
  EXPECT_TRUE(rope_of(plan) == (Rope{.pairing = Pairing::half, .head_dim = 128, .dim = 128, .base = 1e4}));
  EXPECT_EQ(layer_of(plan, 0).value_dim, 128);
}

TEST(ReadPlanFamilies, an_unknown_family_is_named_and_not_read) {
  const Plan plan = plan_of(R"({"model_type": "mamba9", "architectures": ["Mamba9ForCausalLM"], "state": 1})");
  EXPECT_FALSE(plan.known);
  EXPECT_EQ(plan.family, "mamba9");
  EXPECT_TRUE(plan.stacks.empty());
  ASSERT_EQ(codes(plan), std::vector<std::string>{"unknown-family"});
  EXPECT_NE(plan.warnings[0].message.find("mamba9"), std::string::npos);
  EXPECT_EQ(plan.ignored_keys, std::vector<std::string>{"/state"});
}

}  // namespace
}  // namespace posenc::test::read_plan_families_test
