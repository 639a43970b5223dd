// The built-in models against the models' own files.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "plan/read/plan_reading.h"
#include "support/test_data.h"
#include "support/throws.h"

namespace posenc::test::presets_test {
namespace {

// Files of the data set that stand as their makers published them: PROVENANCE.tsv calls none of them edited.
struct PublishedFile {
  std::string_view preset;
  std::string_view file;
};
constexpr PublishedFile kPublishedFiles[] = {
    {"bert-base", "bert__base-uncased"},
    {"dbrx", "dbrx__16x12b"},
    {"deepseek-v2-lite", "deepseek_v2__v2-lite"},
    {"deepseek-v3", "deepseek_v3__v3"},
    {"deepseek-v3.2", "deepseek_v32__v3.2"},
    {"exaone-3.0-7.8b", "exaone__3.0-7.8b"},
    {"exaone-4.0-32b", "exaone4__4.0-32b"},
    {"falcon-40b", "falcon__40b"},
    {"flan-t5-large", "t5__flan-t5-large"},
    {"gemma-2-9b", "gemma2__9b"},
    {"gemma-7b", "gemma__7b"},
    {"glm-4-9b", "chatglm__glm-4-9b"},
    {"glm-5", "glm_moe_dsa__glm-5"},
    {"gpt-j-6b", "gptj__gpt-j-6b-fkt"},
    {"gpt-oss-120b", "gpt_oss__120b"},
    {"gpt2", "gpt2__gpt2"},
    {"granite-3.1-1b", "granitemoe__3.1-1b-a400m"},
    {"granite-3.3-8b", "granite__3.3-8b-instruct"},
    {"internlm2-7b", "internlm2__7b"},
    {"internlm3-8b", "internlm3__8b-instruct"},
    {"kimi-k2", "kimi_k2__0905-256k"},
    {"llama-2-7b", "llama__llama-2-7b-hf"},
    {"llama-3.1-70b", "llama__llama-3.1-70b"},
    {"llama-3.1-8b", "llama__llama-3.1-8b"},
    {"llama-3.2-1b", "llama__llama-3.2-1b"},
    {"llama-3.2-3b", "llama__llama-3.2-3b-instruct"},
    {"mimo-7b", "mimo__7b-base"},
    {"minicpm4-8b", "minicpm__minicpm4-8b"},
    {"minimax-m2.5", "minimax_m2__m2.5"},
    {"mistral-7b-v0.1", "mistral__7b-v0.1"},
    {"mixtral-8x22b", "mixtral__8x22b-v0.1"},
    {"olmo-3.1-32b", "olmo3__3.1-32b-instruct"},
    {"opt-125m", "opt__125m"},
    {"phi-1", "phi__phi-1"},
    {"phi-3-mini-128k", "phi3__phi-3-mini-128k"},
    {"phi-3.5-mini", "phi3__phi-3.5-mini-128k"},
    {"phi-3.5-moe", "phimoe__phi-3.5-moe"},
    {"pythia-410m", "gpt_neox__pythia-410m"},
    {"qwen2-7b", "qwen2__qwen2-7b-instruct"},
    {"qwen2.5-0.5b", "qwen2__qwen2.5-0.5b"},
    {"qwen2.5-72b", "qwen2__qwen2.5-72b"},
    {"qwen2.5-7b", "qwen2__qwen2.5-7b"},
    {"qwen3-30b-a3b", "qwen3_moe__30b-a3b"},
    {"qwen3-8b", "qwen3__8b"},
    {"roberta-base", "roberta__base"},
    {"smollm-1.7b", "llama__smollm-1.7b"},
    {"smollm3-3b", "smollm3__3b"},
    {"stablelm-3b-4e1t", "stablelm__3b-4e1t"},
    {"t5-base", "t5__base"},
    {"whisper-medium", "whisper__medium"},
    {"xlnet-base", "xlnet__base-cased"},
};

bool has_file(const Preset& preset) {
  return std::ranges::find(kPublishedFiles, preset.name, &PublishedFile::preset) != std::end(kPublishedFiles);
}

TEST(Presets, each_is_a_known_model_without_an_idle_key) {
  ASSERT_GE(presets().size(), 25U);
  for (const Preset& preset : presets()) {
    SCOPED_TRACE(preset.name);
    const Plan plan = preset_plan(preset.name, {.length = 7});
    EXPECT_TRUE(plan.known);
    EXPECT_EQ(plan.source, (PlanSource{SourceKind::preset, std::string(preset.name)}));
    EXPECT_EQ(plan.length, 7);
    EXPECT_TRUE(plan.ignored_keys.empty()) << plan.ignored_keys.front();
    // Of a checked one the warnings are those of its file.
    EXPECT_TRUE(preset.checked || plan.warnings.empty());
  }
}

TEST(Presets, have_names_of_their_own) {
  std::vector<std::string_view> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

// So that the flag cannot be set without a file that is compared below.
TEST(Presets, are_checked_where_there_is_a_file_and_nowhere_else) {
  for (const Preset& preset : presets()) EXPECT_EQ(preset.checked, has_file(preset)) << preset.name;
  for (const PublishedFile& published : kPublishedFiles) {
    EXPECT_NE(std::ranges::find(presets(), published.preset, &Preset::name), presets().end()) << published.preset;
  }
}

// Every fact of the model's own file; but not its keys without positions, and where values came from.
TEST(Presets, agree_with_the_published_files) {
  POSENC_NEED_DATA("configs");
  for (const PublishedFile& published : kPublishedFiles) {
    SCOPED_TRACE(published.preset);
    const Result<Plan> plan = read_plan(test_data() / "configs" / (std::string(published.file) + ".json"));
    ASSERT_TRUE(plan.ok()) << plan.error().message();
    Plan expected = *plan;
    Plan preset = preset_plan(published.preset);
    for (Plan* both : {&expected, &preset}) {
      both->source = {};
      both->sources.clear();
      both->absent_keys.clear();
      both->ignored_keys.clear();
      // Keys that mislead are left out of presets.
      std::erase_if(both->warnings, [](const Warning& warning) { return warning.code == "misleading-key"; });
    }
    EXPECT_TRUE(preset == expected) << describe(preset) << describe(expected);
  }
}

TEST(Presets, published_files_are_not_edited) {
  POSENC_NEED_DATA("PROVENANCE.tsv");
  std::ifstream table(test_data() / "PROVENANCE.tsv");
  std::vector<std::string> lines;
  for (std::string line; std::getline(table, line);) lines.push_back(line);
  for (const PublishedFile& published : kPublishedFiles) {
    const std::string start = "configs/" + std::string(published.file) + ".json\t";
    const auto line = std::ranges::find_if(lines, [&](const std::string& l) { return l.starts_with(start); });
    ASSERT_NE(line, lines.end()) << published.file;
    EXPECT_EQ(line->find("edited"), std::string::npos) << *line;
  }
}

TEST(Presets, gpt_oss_and_gemma_have_their_published_shape) {
  const Plan gpt_oss = preset_plan("gpt-oss-20b");
  EXPECT_EQ(gpt_oss.stacks[0].layers.size(), 24U);
  EXPECT_EQ(layer_of(gpt_oss, 0).mask.window, (Window{127, 0}));
  EXPECT_FALSE(layer_of(gpt_oss, 1).mask.window.has_value());
  const Plan gemma = preset_plan("gemma-3-4b");
  EXPECT_EQ(gemma.stacks[0].layers.size(), 34U);
  EXPECT_EQ(rope_of(gemma, 5).base, 1e6);
  EXPECT_EQ(rope_of(gemma, 4).base, 1e4);
}

TEST(Presets, a_length_has_a_token) {
  EXPECT_ERROR((void)preset_plan("llama-3.1-8b", {.length = 0}), "[read_plan] length must be at least 1 but is 0");
}

TEST(Presets, an_unknown_one_names_the_nearest) {
  try {
    (void)preset_plan("llama-3-8b");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("llama-3.1-8b"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("\"llama-3-8b\""), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace posenc::test::presets_test
