// A setting makes the plan that the reader makes of a config whose key says the same.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/override/overriding.h"

namespace posenc::test::override_config_test {
namespace {

// A preset, or a preset's config in the form of transformers 5 where `form` has edits; then the change and its words.
struct Case {
  std::string preset;
  std::vector<Edit> form;
  std::vector<Edit> change;
  std::vector<std::string> settings;
};

const std::string kYarn = R"({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096})";
const std::string kYarnInFull =
    R"({"rope_type": "yarn", "factor": 8, "original_max_position_embeddings": 2048, "attention_factor": 1.25,
        "beta_fast": 24, "beta_slow": 2, "truncate": false})";
const std::string kYarnOfMscales =
    R"({"type": "yarn", "factor": 20, "original_max_position_embeddings": 4096, "mscale": 1.0, "mscale_all_dim": 0.8})";
const std::string kLlama3 =
    R"({"rope_type": "llama3", "factor": 16.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 4096})";

// rope_parameters for the rope_theta and rope_scaling of the preset.
std::vector<Edit> new_form(const std::string& parameters) {
  return {{"/rope_scaling", ""}, {"/rope_theta", ""}, {"/rope_parameters", parameters}};
}

std::vector<Case> cases() {
  const std::string full =
      "rope_scaling=yarn,factor=8,original=2048,attention_factor=1.25,beta_fast=24,beta_slow=2,truncate=no";
  const std::string llama3 = "rope_scaling=llama3,factor=16,low_freq_factor=1,high_freq_factor=4,original=4096";
  const std::vector<Edit> qwen3 = new_form(R"({"rope_type": "default", "rope_theta": 1e6})");
  return {
      {"llama-2-7b", {}, {{"/rope_theta", "1e6"}}, {"base=1e6"}},
      {"llama-2-7b", {}, {{"/rope_scaling", kYarn}}, {"rope_scaling=yarn,factor=4,original=4096"}},
      {"llama-2-7b", {}, {{"/rope_scaling", kYarnInFull}}, {full}},
      {"llama-2-7b", {}, {{"/rope_scaling", kLlama3}, {"/rope_theta", "5e5"}}, {llama3, "base=500000"}},
      {"llama-2-7b",
       {},
       {{"/rope_scaling", R"({"type": "linear", "factor": 2.5})"}},
       {"rope_scaling=linear,factor=2.5"}},
      {"llama-2-7b", {}, {{"/rope_scaling", R"({"type": "dynamic", "factor": 4})"}}, {"rope_scaling=dynamic,factor=4"}},
      {"llama-2-7b", {}, {{"/num_key_value_heads", "8"}}, {"kv_heads=8"}},
      {"llama-2-7b", {}, {{"/max_position_embeddings", "16384"}}, {"trained_length=16384"}},
      {"llama-2-7b",
       {{"/rope_scaling", R"({"type": "dynamic", "factor": 4})"}},
       {{"/max_position_embeddings", "8192"}},
       {"trained_length=8192"}},
      {"llama-3.1-8b", {}, {{"/rope_scaling", "null"}}, {"rope_scaling=none"}},
      {"llama-3.1-8b", {}, {{"/rope_scaling/factor", "32"}}, {"factor=32"}},
      {"llama-3.1-8b", {}, {{"/rope_scaling/low_freq_factor", "2"}}, {"low_freq_factor=2"}},
      {"llama-3.1-8b",
       {},
       {{"/rope_scaling/original_max_position_embeddings", "4096"}, {"/rope_scaling/factor", "16"}},
       {"original=4096,factor=16"}},
      {"qwen3-8b", {}, {{"/rope_scaling", kYarn}}, {"rope_scaling=yarn,factor=4,original=4096"}},
      {"qwen3-8b", qwen3, {{"/rope_parameters/rope_theta", "5e6"}}, {"base=5000000"}},
      {"qwen3-8b",
       qwen3,
       {{"/rope_parameters",
         R"({"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 8192, "rope_theta": 1e6})"}},
       {"rope_scaling=yarn,factor=4,original=8192"}},
      // Without an original length the trained one stands for it; without a factor, how far the model was stretched.
      {"qwen3-8b", {}, {{"/rope_scaling", R"({"rope_type": "yarn", "factor": 2})"}}, {"rope_scaling=yarn,factor=2"}},
      {"qwen3-8b",
       {},
       {{"/rope_scaling", R"({"rope_type": "yarn", "original_max_position_embeddings": 10240})"}},
       {"rope_scaling=yarn,original=10240"}},
      // The softmax scale follows, and to the last bit.
      {"deepseek-v3",
       {},
       {{"/rope_scaling", kYarnOfMscales}},
       {"rope_scaling=yarn,factor=20,original=4096,mscale=1,mscale_all_dim=0.8"}},
      {"deepseek-v3", {}, {{"/rope_scaling/factor", "20"}}, {"factor=20"}},
      {"deepseek-v3", {}, {{"/rope_scaling/mscale_all_dim", "0.7"}}, {"mscale_all_dim=0.7"}},
      {"deepseek-v3", {}, {{"/rope_scaling", ""}}, {"rope_scaling=none"}},
      {"deepseek-v3.2", {}, {{"/rope_theta", "2e4"}, {"/rope_scaling/beta_fast", "16"}}, {"base=2e4", "beta_fast=16"}},
      {"kimi-k2", {}, {{"/rope_scaling/factor", "32"}}, {"factor=32"}},
      // One key for the full layers, another for those with a window.
      {"gemma-3-4b", {}, {{"/rope_theta", "5e5"}}, {"base=5e5"}},
      {"gemma-3-4b", {}, {{"/rope_local_base_freq", "2e4"}}, {"sliding:base=20000"}},
      {"gemma-3-4b", {}, {{"/rope_scaling", "null"}}, {"rope_scaling=none"}},
      {"gemma-3-4b", {}, {{"/rope_scaling/factor", "4"}}, {"factor=4"}},
      {"gemma-3-4b", {}, {{"/sliding_window", "512"}}, {"window=512"}},
      {"gemma-3-4b", {}, {{"/sliding_window", "512"}, {"/rope_theta", "3e6"}}, {"window=511..0", "full:base=3e6"}},
      {"gemma-2-9b", {}, {{"/attn_logit_softcapping", "30.0"}}, {"soft_cap=30"}},
      {"gemma-2-9b", {}, {{"/attn_logit_softcapping", "null"}}, {"soft_cap=none"}},
      {"gemma-2-9b", {}, {{"/query_pre_attn_scalar", "64"}}, {"scale=0.125"}},
      {"granite-3.1-1b", {}, {{"/attention_multiplier", "0.125"}}, {"scale=0.125"}},
      {"mistral-7b-v0.1", {}, {{"/sliding_window", "null"}}, {"window=none"}},
      {"mistral-7b-v0.1", {}, {{"/sliding_window", "1000"}}, {"window=1000"}},
      {"mistral-7b-v0.1", {{"/sliding_window", "null"}}, {{"/sliding_window", "2048"}}, {"window=2048"}},
      // A window that covers all that the model is for is none, wherever it is said.
      {"mistral-7b-v0.1", {}, {{"/sliding_window", "32768"}}, {"window=32768"}},
      {"gpt-oss-20b", {}, {{"/rope_scaling/factor", "16"}, {"/sliding_window", "64"}}, {"factor=16,window=64"}},
      {"gpt-oss-20b", {}, {{"/rope_scaling/truncate", "true"}}, {"truncate=yes"}},
      {"stablelm-3b-4e1t", {}, {{"/partial_rotary_factor", "0.5"}}, {"partial=0.5"}},
      {"gpt-j-6b", {}, {{"/rotary_dim", "32"}}, {"rotary_dim=32"}},
      {"phi-3.5-mini", {}, {{"/original_max_position_embeddings", "8192"}}, {"original=8192"}},
      {"phi-3.5-mini", {}, {{"/rope_scaling", R"({"type": "linear", "factor": 8})"}}, {"rope_scaling=linear,factor=8"}},
      {"internlm3-8b", {}, {{"/rope_scaling/factor", "2"}}, {"factor=2"}},
      {"olmo-3.1-32b", {}, {{"/rope_scaling/factor", "4"}}, {"factor=4"}},
      {"minimax-m2.5", {}, {{"/rope_theta", "1e7"}}, {"base=1e7"}},
      {"exaone-4.0-32b", {}, {{"/rope_scaling/factor", "8"}, {"/sliding_window", "1024"}}, {"factor=8", "window=1024"}},
  };
}

TEST(OverrideConfig, SaysWhatTheKeySays) {
  for (const Case& one : cases()) {
    const std::string what = one.preset + " " + one.settings.front();
    const std::string before = edited(preset_config(one.preset), one.form);
    const Plan plan = plan_of(before);
    const Plan wanted = plan_of(edited(before, one.change));
    EXPECT_FALSE(wanted.stacks == plan.stacks && wanted.trained_length == plan.trained_length) << what << ": no change";
    expect_same_facts(wanted, overridden(plan, one.settings), what);
  }
}

// Nothing but what was set is told to come from the user, and one setting undoes another.
TEST(OverrideConfig, GoesThereAndBack) {
  const Plan plan = preset_plan("gemma-3-4b");
  const Plan there = overridden(plan, {"base=5e5", "window=512", "sliding:base=2e4", "rope_scaling=none"});
  const Plan back = overridden(there, {"base=1e6", "window=1024", "sliding:base=1e4", "rope_scaling=linear,factor=8"});
  EXPECT_FALSE(there.stacks == plan.stacks);
  EXPECT_TRUE(back.stacks == plan.stacks);
  EXPECT_TRUE(overridden(plan, {}) == plan);
}

TEST(OverrideConfig, TakesListsOfLongRope) {
  const std::string config = preset_config("phi-3.5-mini");
  const Plan plan = plan_of(config);
  std::string shorts = "[1";
  std::string longs = "[1";
  for (int pair = 1; pair < 48; ++pair) {
    shorts += "," + std::to_string(1 + pair) + ".5";
    longs += ", " + std::to_string(2 * pair);
  }
  shorts += "]";
  longs += "]";
  const std::string rule = R"({"type": "longrope", "short_factor": )" + shorts + R"(, "long_factor": )" + longs + "}";
  const Plan wanted = plan_of(edited(config, {{"/rope_scaling", rule}}));
  expect_same_facts(
      wanted, overridden(plan, {"rope_scaling=longrope,short_factor=" + shorts + ",long_factor=" + longs}), "longrope");
  EXPECT_NE(refusal(plan, {"long_factor=[1,2]"}).find("long_factor"), std::string::npos);
}

}  // namespace
}  // namespace posenc::test::override_config_test
