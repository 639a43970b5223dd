// Model files that are no Hugging Face config: params.json and its kin, on small files of our own.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "plan/read/plan_reading.h"

namespace posenc::test::read_plan_native_test {
namespace {

using Codes = std::vector<std::string>;

constexpr std::string_view kMeta = R"({"dim": 64, "n_layers": 2, "n_heads": 4, "n_kv_heads": 2, "norm_eps": 1e-05,
  "multiple_of": 256, "vocab_size": -1})";
constexpr std::string_view kMistral = R"({"dim": 64, "n_layers": 4, "head_dim": 16, "hidden_dim": 128, "n_heads": 4,
  "n_kv_heads": 2, "norm_eps": 1e-05, "vocab_size": 100, "rope_theta": 1000000.0})";
constexpr std::string_view kExecutorch = R"({"dim": 64, "n_layers": 4, "n_heads": 4, "n_kv_heads": 2,
  "hidden_dim": 128, "norm_eps": 1e-05, "use_hf_rope": true, "rope_theta": 5000.0})";
constexpr std::string_view kDeepseek = R"({"dim": 64, "inter_dim": 128, "n_layers": 1, "n_heads": 4,
  "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "kv_lora_rank": 32})";

std::string with_key(std::string_view text, std::string_view keys) {
  return with(text, "{", "{" + std::string(keys) + ", ");
}

// ---- Meta ----

TEST(ReadPlanNative, metas_params) {
  const Plan plan = plan_of(kMeta);
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(plan.source.kind, SourceKind::params_json);
  EXPECT_EQ(plan.family, "llama-params");
  EXPECT_TRUE(plan.model_type.empty());
  EXPECT_FALSE(plan.trained_length.has_value());
  EXPECT_EQ(layer_of(plan, 1).kv_heads, 2);
  EXPECT_EQ(rope_of(plan).pairing, Pairing::interleaved);
  EXPECT_EQ(rope_of(plan).base, 10000);
  EXPECT_EQ(rope_of(plan).dim, 16);
  EXPECT_TRUE(codes(plan).empty());
}

TEST(ReadPlanNative, a_switch_means_the_llama_3_rule) {
  const Plan plan = plan_of(with_key(kMeta, R"("use_scaled_rope": true, "rope_theta": 500000.0)"));
  const Llama3Scaling published{.factor = 8, .high_freq_factor = 4, .original_max_position_embeddings = 8192};
  EXPECT_EQ(std::get<Llama3Scaling>(rope_of(plan).scaling), published);
  EXPECT_TRUE(codes(plan).empty());
  const Plan given = plan_of(with_key(kMeta, R"("use_scaled_rope": true, "rope_scale_factor": 32)"));
  EXPECT_EQ(std::get<Llama3Scaling>(rope_of(given).scaling).factor, 32);
  EXPECT_TRUE(codes(given).empty());
  EXPECT_TRUE(
      std::holds_alternative<std::monostate>(rope_of(plan_of(with_key(kMeta, R"("use_scaled_rope": false)"))).scaling));
  EXPECT_EQ(error_of(with_key(kMeta, R"("use_scaled_rope": 1)")).path, "/use_scaled_rope");
}

// Llama 3.2's 1B and 3B carry factor 32, which their params.json do not say.
TEST(ReadPlanNative, a_switch_without_a_factor_is_odd_in_the_small_models_only) {
  for (const auto& [width, odd] : {std::pair{"2048", true}, {"3072", true}, {"4096", false}, {"8192", false}}) {
    const std::string text = with(kMeta, R"("dim": 64)", R"("dim": )" + std::string(width));
    const Plan plan = plan_of(with_key(text, R"("use_scaled_rope": true)"));
    EXPECT_EQ(codes(plan), odd ? Codes{"default-differs"} : Codes{}) << width;
    EXPECT_TRUE(codes(plan_of(with_key(text, R"("use_scaled_rope": true, "rope_scale_factor": 32)"))).empty());
    EXPECT_TRUE(codes(plan_of(with_key(text, R"("use_scaled_rope": false)"))).empty());
  }
}

TEST(ReadPlanNative, images_in_metas_params_are_not_decided) {
  const Plan plan = plan_of(with_key(kMeta, R"("vision_chunk_size": 560)"));
  EXPECT_FALSE(plan.known);
  EXPECT_EQ(codes(plan), Codes{"undecided"});
  EXPECT_TRUE(plan_of(with_key(kMeta, R"("vision_chunk_size": null)")).known);
}

TEST(ReadPlanNative, errors_in_metas_params) {
  EXPECT_EQ(error_of(with(kMeta, R"("n_heads": 4)", R"("n_heads": 3)")).kind, ErrorKind::not_divisible);
  EXPECT_EQ(error_of(with(kMeta, R"("n_kv_heads": 2)", R"("n_kv_heads": 3)")).path, "/n_kv_heads");
  EXPECT_EQ(error_of(with(kMeta, R"("dim": 64)", R"("dim": "64")")).path, "/dim");
  EXPECT_EQ(error_of(with_key(kMeta, R"("rope_theta": -1)")).path, "/rope_theta");
}

// ---- Mistral ----

TEST(ReadPlanNative, mistrals_params) {
  const Plan plan = plan_of(kMistral);
  EXPECT_EQ(plan.family, "mistral-params");
  EXPECT_EQ(rope_of(plan).pairing, Pairing::interleaved);
  EXPECT_FALSE(layer_of(plan, 0).mask.window.has_value());
  const Plan old = plan_of(with(kMistral, R"(, "rope_theta": 1000000.0)", R"(, "sliding_window": 32)"));
  EXPECT_EQ(layer_of(old, 3).mask.window, (Window{31, 0}));
  EXPECT_EQ(codes(old), Codes{"default-differs"});
}

TEST(ReadPlanNative, windows_in_a_list_repeat) {
  const Plan plan = plan_of(with_key(kMistral, R"("_sliding_window": [null, 32])"));
  EXPECT_FALSE(layer_of(plan, 0).mask.window.has_value());
  EXPECT_EQ(layer_of(plan, 1).mask.window, (Window{31, 0}));
  EXPECT_FALSE(layer_of(plan, 2).mask.window.has_value());
  EXPECT_EQ(layer_of(plan, 3).mask.window, (Window{31, 0}));
  EXPECT_EQ(error_of(with_key(kMistral, R"("sliding_window": [16, 32])")).path, "/sliding_window/1");
  EXPECT_EQ(error_of(with_key(kMistral, R"("sliding_window": [])")).path, "/sliding_window");
  EXPECT_EQ(error_of(with_key(kMistral, R"("sliding_window": ["32"])")).kind, ErrorKind::type);
}

TEST(ReadPlanNative, mistrals_yarn) {
  constexpr std::string_view kYarn =
      R"("yarn": {"factor": 16, "original_max_position_embeddings": 1024, "beta": 32, "alpha": 1, "apply_scale": false})";
  const Plan plan = plan_of(with_key(kMistral, kYarn));
  const YarnScaling expected{.factor = 16,
                             .original_max_position_embeddings = 1024,
                             .attention_factor = 1.0,
                             .beta_fast = 32.0,
                             .beta_slow = 1.0};
  EXPECT_EQ(std::get<YarnScaling>(rope_of(plan).scaling), expected);
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-3/rotate/0/scaling/beta_fast"), "/yarn/beta");
  const Plan applied = plan_of(with_key(kMistral, with(kYarn, "false", "true")));
  EXPECT_FALSE(std::get<YarnScaling>(rope_of(applied).scaling).attention_factor.has_value());
  EXPECT_EQ(error_of(with_key(kMistral, with(kYarn, R"("factor": 16, )", ""))).kind, ErrorKind::missing_key);
  const Plan shortest = plan_of(with_key(kMistral, with(kYarn, "1024", "1")));
  EXPECT_EQ(std::get<YarnScaling>(rope_of(shortest).scaling).original_max_position_embeddings, 1);
  EXPECT_EQ(error_of(with_key(kMistral, with(kYarn, R"("original_max_position_embeddings": 1024, )", ""))).kind,
            ErrorKind::missing_key);
  EXPECT_EQ(error_of(with_key(kMistral, R"("yarn": true)")).path, "/yarn");
}

TEST(ReadPlanNative, mistrals_queries_grow) {
  const Plan plan =
      plan_of(with_key(kMistral, R"("llama_4_scaling": {"original_max_position_embeddings": 1024, "beta": 0.1})"));
  EXPECT_EQ(std::get<MinistralTemperature>(layer_of(plan, 2).query_scale),
            (MinistralTemperature{.beta = 0.1, .original_max_position_embeddings = 1024}));
  EXPECT_EQ(error_of(with_key(kMistral, R"("llama_4_scaling": {"beta": 0.1})")).path, "/llama_4_scaling");
}

TEST(ReadPlanNative, images_in_mistrals_params_are_not_decided) {
  EXPECT_FALSE(plan_of(with_key(kMistral, R"("vision_encoder": {"hidden_size": 64})")).known);
  EXPECT_TRUE(plan_of(with_key(kMistral, R"("qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 16)")).known);
  EXPECT_EQ(plan_of(with_key(kMistral, R"("model_type": "transformer")")).family, "mistral-params");
}

// ---- ExecuTorch ----

TEST(ReadPlanNative, executorchs_switch_of_pairs) {
  EXPECT_EQ(rope_of(plan_of(kExecutorch)).pairing, Pairing::half);
  EXPECT_EQ(rope_of(plan_of(with(kExecutorch, R"("use_hf_rope": true)", R"("use_hf_rope": false)"))).pairing,
            Pairing::interleaved);
  EXPECT_EQ(rope_of(plan_of(with_key(kExecutorch, R"("partial_rotary_factor": 0.5)"))).dim, 8);
}

TEST(ReadPlanNative, executorchs_layers) {
  const Plan mixed = plan_of(with_key(
      kExecutorch,
      R"("layer_types": ["conv", "linear_attention", "sliding_attention", "full_attention"], "sliding_window": 8,
         "local_rope_theta": 100.0, "use_qk_norm": true, "qk_norm_before_rope": false, "attention_multiplier": 0.5)"));
  EXPECT_EQ(layer_of(mixed, 0).kind, LayerKind::convolution);
  EXPECT_EQ(layer_of(mixed, 1).kind, LayerKind::linear_attention);
  EXPECT_EQ(layer_of(mixed, 2).mask.window, (Window{7, 0}));
  EXPECT_EQ(rope_of(mixed, 2).base, 100);
  EXPECT_EQ(rope_of(mixed, 3).base, 5000);
  EXPECT_EQ(layer_of(mixed, 3).qk_norm->order, QkNorm::Order::after);
  EXPECT_EQ(layer_of(mixed, 3).softmax_scale, 0.5);
  const Plan resting = plan_of(with_key(kExecutorch, R"("no_rope_layer_interval": 4)"));
  EXPECT_TRUE(layer_of(resting, 3).rotate.empty());
  EXPECT_FALSE(layer_of(resting, 2).rotate.empty());
}

TEST(ReadPlanNative, executorchs_longrope) {
  constexpr std::string_view kLists = R"("original_max_position_embeddings": 128, "max_position_embeddings": 512,
    "rope_scaling_short_factor": [1, 1, 1, 1, 1, 1, 1, 1], "rope_scaling_long_factor": [1, 2, 3, 4, 5, 6, 7, 8])";
  const auto rule = std::get<LongRopeScaling>(rope_of(plan_of(with_key(kExecutorch, kLists))).scaling);
  EXPECT_EQ(rule.factor, 4);
  EXPECT_EQ(rule.long_factor.at(7), 8);
  EXPECT_EQ(error_of(with_key(kExecutorch, with(kLists, "[1, 2, 3", "[2, 3"))).path, "/rope_scaling_long_factor");
  EXPECT_EQ(error_of(with_key(kExecutorch, with(kLists, R"("max_position_embeddings": 512,)", ""))).kind,
            ErrorKind::missing_key);
}

// ---- DeepSeek, GPT-J ----

TEST(ReadPlanNative, deepseeks_own_config) {
  const Plan plan = plan_of(kDeepseek);
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(plan.source.kind, SourceKind::config_json);
  const double g = 0.1 * std::log(40.0) + 1;  // the plan contract's 0.135234
  EXPECT_NEAR(layer_of(plan, 0).softmax_scale, g * g / std::sqrt(192.0), 1e-15);
  EXPECT_EQ(rope_of(plan).first_channel, 128);
  EXPECT_EQ(std::get<YarnScaling>(rope_of(plan).scaling).factor, 40);
  const Plan lite = plan_of(with_key(kDeepseek, R"("mscale": 0.707)"));
  EXPECT_EQ(std::get<YarnScaling>(rope_of(lite).scaling).mscale_all_dim, 0.707);
  EXPECT_EQ(error_of(with_key(kDeepseek, R"("rope_factor": 0)")).path, "/rope_factor");
}

TEST(ReadPlanNative, gptjs_training_config) {
  constexpr std::string_view kGptj = R"({"layers": 2, "d_model": 64, "n_heads": 4, "pe": "rotary", "pe_rotary_dims": 8,
    "seq": 128})";
  const Plan plan = plan_of(kGptj);
  EXPECT_EQ(plan.trained_length, 128);
  EXPECT_EQ(rope_of(plan).dim, 8);
  EXPECT_EQ(rope_of(plan).pairing, Pairing::interleaved);
  EXPECT_TRUE(layer_of(plan_of(with(kGptj, R"("rotary")", R"("t5")")), 0).rotate.empty());
}

// ---- files that are something else ----

TEST(ReadPlanNative, other_files_are_named) {
  const std::pair<std::string_view, std::string_view> files[] = {
      {R"({"emb_size": 64, "heads_num": 4, "layers_num": 2})", "TencentPretrain"},
      {R"({"dim_model": 64, "num_heads": 4, "position_bias_num_segment_buckets": 256})", "CPM-Bee"},
      {R"({"model_type": "Baichuan", "model_path": "m", "engine_config": {}, "generation_config": {}})", "DashInfer"},
      {R"({"model_type": "bloom", "hidden_dim": 64, "num_layers": 2, "ffn_embed_dim": 128})", "llm-analysis"},
      {R"({"model_type": "gpt2", "tokenizer_class": "T", "chat_template": ""})", "tokenizer_config.json"},
      {R"({"discriminator": {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1}})", "/discriminator"},
      {R"({"models": [{"model_type": "llama"}]})", "/models/0"},
      {R"({"hidden_size": 16, "eos_token_id": 3})", "another object"},
      {R"({"architectures": null})", "another object"}};
  for (const auto& [text, says] : files) {
    const FileError error = error_of(text);
    EXPECT_EQ(error.kind, ErrorKind::not_a_model_config) << text;
    EXPECT_NE(error.message().find(says), std::string::npos) << error.message();
  }
}

TEST(ReadPlanNative, a_directory_with_a_params_json) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "posenc_params";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "params.json") << kMeta;
  const Result<Plan> plan = read_plan(folder);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_EQ(plan->source, (PlanSource{SourceKind::params_json, (folder / "params.json").string()}));
}

}  // namespace
}  // namespace posenc::test::read_plan_native_test
