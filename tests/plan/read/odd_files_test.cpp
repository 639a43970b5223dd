// The files of data/odd: what each gives, plan or error.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "plan/read/plan_reading.h"
#include "support/test_data.h"

namespace posenc::test::odd_files_test {
namespace {

constexpr ErrorKind kNoModel = ErrorKind::not_a_model_config;

// ---- files with a plan ----

struct OddPlan {
  std::string_view file;
  std::string_view family;
  std::string_view known;     // "true", "false"
  std::size_t layers;         // of the first stack
  std::string_view rotation;  // of the last layer that rotates: pairing/first/dim/base/rule; empty: none rotates
  std::vector<std::string> warnings = {};
};

const OddPlan kPlans[] = {
    {"deepseek_native__config_16B.json", "deepseek-native", "true", 27, "interleaved/128/64/10000/yarn"},
    {"deepseek_native__config_236B.json", "deepseek-native", "true", 60, "interleaved/128/64/10000/yarn"},
    {"deepseek_native__config_671B.json", "deepseek-native", "true", 61, "interleaved/128/64/10000/yarn"},
    {"deepseek_native__config_v3.1.json", "deepseek-native", "true", 61, "interleaved/128/64/10000/yarn"},
    {"executorch__codegen_config_config.json", "executorch", "true", 16, "half/0/64/10000/none"},
    {"executorch__gemma3_config_1b_config.json", "executorch", "true", 26, "half/0/256/10000/none"},
    {"executorch__glm_config_1_5b_config.json", "executorch", "true", 28, "half/0/128/10000/none"},
    {"executorch__granite_config_2b_config.json", "executorch", "true", 40, "interleaved/0/64/10000000/none"},
    {"executorch__internvl3_1b_config.json", "executorch", "true", 24, "half/0/64/1000000/none"},
    {"executorch__lfm2_config_lfm2_1_2b_config.json", "executorch", "true", 16, "half/0/64/1000000/none"},
    {"executorch__llama3_2_vision_text_decoder_params_demo_config.json",
     "executorch",
     "false",
     32,
     "interleaved/0/128/500000/llama3",
     {"undecided"}},
    {"executorch__phi_4_mini_config_config.json", "executorch", "true", 32, "half/0/96/10000/longrope"},
    {"executorch__qwen3_5_config_0_8b_config.json", "executorch", "true", 24, "half/0/64/10000000/none"},
    {"executorch__smollm3_3b_config.json", "executorch", "true", 36, "interleaved/0/128/5000000/none"},
    {"gptj_native__6B_roto_256.json", "gptj-native", "true", 28, "interleaved/0/64/10000/none"},
    {"rtp__llama_hf_source.json", "llama", "true", 1, "half/0/128/10000/none"},
    {"rtp__qwen_7b_no_model_type.json",
     "qwen",
     "true",
     2,
     "half/0/128/10000/qwen_ntk",
     {"no-model-type", "precedence"}},
    {"rknn__CustomForCausalLM.json", "CustomForCausalLM", "false", 8, "", {"no-model-type", "unknown-family"}},
    {"roformer__chinese_roformer-sim-char-ft_L-12_H-768_A-12.json", "", "false", 12, "", {"unknown-family"}},
    {"roformer__chinese_roformer-v2-char_L-12_H-768_A-12.json", "", "false", 12, "", {"unknown-family"}},
    {"roformer__chinese_roformer-v2-char_L-6_H-384_A-6.json", "", "false", 6, "", {"unknown-family"}},
    {"ovms_stub__invalid_architecture.json",
     "InvalidArchitecture",
     "false",
     0,
     "",
     {"no-model-type", "unknown-family"}},
    {"ovms_stub__lfm.json", "lfm2", "true", 32, "half/0/64/1000000/none", {"default-sizes"}},
    {"ovms_stub__qwen3_multi_arch.json", "qwen3_multi_arch", "false", 0, "", {"unknown-family"}},
    {"ovms_stub__trinity.json", "afmoe", "true", 32, "half/0/128/10000/none", {"default-sizes"}},
};

std::string rotation_of(const Plan& plan) {
  std::string last;
  for (const LayerPlan& layer : plan.stacks.empty() ? std::vector<LayerPlan>{} : plan.stacks[0].layers) {
    if (layer.rotate.empty()) continue;
    const Rope& rope = posenc::rope(layer.rotate[0]);
    const std::string rule = describe(rope.scaling);
    last = std::string(name(rope.pairing.get())) + "/" + std::to_string(rope.first_channel) + "/" +
           std::to_string(rope.dim) + "/" + std::to_string(static_cast<std::int64_t>(rope.base)) + "/" +
           rule.substr(0, rule.find(','));
  }
  return last;
}

TEST(OddFiles, plans) {
  POSENC_NEED_DATA("odd");
  for (const OddPlan& row : kPlans) {
    SCOPED_TRACE(row.file);
    const Result<Plan> plan = read_plan(test_data() / "odd" / row.file);
    ASSERT_TRUE(plan.ok()) << plan.error().message();
    EXPECT_EQ(plan->family, row.family);
    EXPECT_EQ(plan->known ? "true" : "false", row.known);
    EXPECT_EQ(plan->stacks.empty() ? 0U : plan->stacks[0].layers.size(), row.layers);
    EXPECT_EQ(rotation_of(*plan), row.rotation);
    EXPECT_EQ(codes(*plan), row.warnings);
  }
}

// ---- files without one ----

struct OddError {
  std::string_view file;
  ErrorKind kind;
  std::string_view says;  // in the message
};

const OddError kErrors[] = {
    {"concatenated__Model_Config.md", ErrorKind::json_syntax, "Llama-3.1-8B"},
    {"cpm_bee_native__10b.json", kNoModel, "CPM-Bee"},
    {"cpm_bee_native__3b.json", kNoModel, "CPM-Bee"},
    {"dashinfer__config_baichuan_7b.json", kNoModel, "DashInfer"},
    {"dashinfer__config_chatglm4_9b.json", kNoModel, "DashInfer"},
    {"dashinfer__config_qwen_v15_7b.json", kNoModel, "DashInfer"},
    {"deberta_native__rtd_base.json", kNoModel, "/discriminator"},
    {"ferrl__eos_config.json", ErrorKind::not_divisible, "Qwen3Config"},
    {"ferrl__eos_config_multi.json", kNoModel, "another object"},
    {"ferrl__eos_config_wrong_type.json", kNoModel, "another object"},
    {"llm_analysis__EleutherAI_gpt-neo-125m.json", kNoModel, "llm-analysis"},
    {"llm_analysis__bigscience_bloom-7b1.json", kNoModel, "llm-analysis"},
    {"minimind__tokenizer_like_gpt2_config.json", kNoModel, "tokenizer_config.json"},
    {"nonstrict__llama_moe_config_TEMPLATE.json", ErrorKind::json_syntax, "CONFIG_HIDDEN_SIZE"},
    {"nonstrict__mistral_moe_config_TEMPLATE.json", ErrorKind::json_syntax, "CONFIG_HIDDEN_SIZE"},
    {"nonstrict__pulsar2_config.json", ErrorKind::json_syntax, "comments"},
    {"ovms_stub__NullArch.json", kNoModel, "another object"},
    {"qeff__causal_model_configs.json", kNoModel, "/causal_lm_models/0"},
    {"qeff__feature_configs.json", kNoModel, "/sampler_config/0"},
    {"qeff__image_text_model_configs.json", kNoModel, "/image_text_models/0"},
    {"tencentpretrain__bloom_7b1.json", kNoModel, "TencentPretrain"},
    {"tencentpretrain__gpt2_xlarge.json", kNoModel, "TencentPretrain"},
    {"tencentpretrain__llama2_70b.json", kNoModel, "TencentPretrain"},
    {"tencentpretrain__llama_7b.json", kNoModel, "TencentPretrain"},
    {"tencentpretrain__t5-v1_1_base.json", kNoModel, "TencentPretrain"},
    {"tencentpretrain__t5_base.json", kNoModel, "TencentPretrain"},
    {"tencentpretrain__xlm-roberta_base.json", kNoModel, "TencentPretrain"},
    {"vllm__base_model_arch_groundtruth.json", kNoModel, "holds configs"},
    {"vllm__draft_model_arch_groundtruth.json", kNoModel, "holds configs"},
};

// It writes max_position_embedings.
TEST(OddFiles, a_stack_without_a_length_is_not_read) {
  POSENC_NEED_DATA("odd");
  const Result<Plan> plan = read_plan(test_data() / "odd" / "axllm__minicpm-2B.json");
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  ASSERT_EQ(plan->stacks.size(), 1U);
  EXPECT_FALSE(plan->known);
  EXPECT_TRUE(plan->stacks[0].layers.empty());
  EXPECT_NE(plan->stacks[0].unknown.at(0).find("max_position_embeddings"), std::string::npos);
}

TEST(OddFiles, errors) {
  POSENC_NEED_DATA("odd");
  for (const OddError& row : kErrors) {
    SCOPED_TRACE(row.file);
    const Result<Plan> plan = read_plan(test_data() / "odd" / row.file);
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(name(plan.error().kind), name(row.kind));
    EXPECT_NE(plan.error().message().find(row.says), std::string::npos) << plan.error().message();
  }
}

// ---- files of families that have tables of their own ----

// Which of them have a plan follows from their families' tests; here only that each has an answer.
constexpr std::string_view kElsewhere[] = {"axllm__minicpm-2B.json",
                                           "deberta_native__deberta_base.json",
                                           "deberta_native__deberta_xlarge.json",
                                           "deberta_native__deberta_xxlarge.json",
                                           "deepseek_native__v3.2_config_671B_v3.2.json",
                                           "dnabert__bert-config-6.json",
                                           "ovms_stub__no_architectures.json",
                                           "ovms_stub__qwen3_6.json",
                                           "gguf_prerelease__example_2023-07-28.gguf",
                                           "gguf_prerelease__ggml-vocab-llama_2023-08-17.gguf"};

TEST(OddFiles, every_file_is_in_a_table) {
  POSENC_NEED_DATA("odd");
  std::set<std::string> listed(std::begin(kElsewhere), std::end(kElsewhere));
  for (const OddPlan& row : kPlans) listed.insert(std::string(row.file));
  for (const OddError& row : kErrors) listed.insert(std::string(row.file));
  std::set<std::string> there;
  for (const auto& entry : std::filesystem::directory_iterator(test_data() / "odd")) {
    there.insert(entry.path().filename().string());
  }
  EXPECT_EQ(listed, there);
}

}  // namespace
}  // namespace posenc::test::odd_files_test
