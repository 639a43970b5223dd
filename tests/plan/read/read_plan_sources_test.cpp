// Where each value came from, and what was not read.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "plan/families/family_configs.h"
#include "plan/families/family_tables.h"
#include "plan/read/plan_reading.h"

namespace posenc::test::read_plan_sources_test {
namespace {

using Strings = std::vector<std::string>;

TEST(ReadPlanSources, keys_defaults_and_rules) {
  const Plan plan =
      plan_of(R"({"model_type": "llama", "rope_theta": 500000.0, "num_attention_heads": 8, "head_dim": 64})");
  const std::string layers = "/stacks/0/layers/0-31/";
  EXPECT_EQ(source_of(plan, layers + "rotate/0/base"), "/rope_theta");
  EXPECT_EQ(source_of(plan, layers + "heads"), "/num_attention_heads");
  EXPECT_EQ(source_of(plan, layers + "head_dim"), "/head_dim");
  EXPECT_EQ(source_of(plan, layers + "rotate/0/dim"), "/head_dim");
  EXPECT_EQ(source_of(plan, layers + "kv_heads"), "default: as many as heads");
  EXPECT_EQ(source_of(plan, layers + "rotate/0/pairing"), "default: the llama family");
  EXPECT_EQ(source_of(plan, layers + "rotate/0/scaling/rule"), "default: no rule is given");
  EXPECT_EQ(source_of(plan, layers + "softmax_scale"), "default: 1 / sqrt(head_dim)");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers"), "default: LlamaConfig, transformers 5.23.0");
  EXPECT_EQ(source_of(plan, "/trained_length"), "default: LlamaConfig, transformers 5.23.0");
}

TEST(ReadPlanSources, equal_ones_are_merged_over_layers) {
  const Plan plan = plan_of(family_config("gemma3"));
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-1,3-4,6/rotate/0/base"), "/rope_local_base_freq");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/2,5/rotate/0/base"), "/rope_theta");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-6/head_dim"), "/head_dim");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-1,3-4,6/mask/window"), "/sliding_window");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/2,5/mask/window"), "/sliding_window_pattern");
}

TEST(ReadPlanSources, class_dictionaries_are_defaults) {
  const Plan plan = plan_of(R"({"model_type": "gpt_oss", "num_hidden_layers": 1})");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0/rotate/0/scaling/factor"),
            "default: GptOssConfig, transformers 5.23.0");
  EXPECT_EQ(std::get<YarnScaling>(rope_of(plan).scaling).factor, 32);
}

void expect_sound_sources(const Plan& plan) {
  std::set<std::string> places;
  for (const ValueSource& source : plan.sources) {
    EXPECT_TRUE(places.insert(source.where).second) << source.where;
    EXPECT_TRUE(source.from.starts_with('/') || source.from.starts_with("default: "))
        << source.where << ": " << source.from;
  }
}

TEST(ReadPlanSources, each_place_is_told_once_and_has_a_source) {
  for (const FamilyConfig& config : family_configs()) {
    SCOPED_TRACE(config.id);
    expect_sound_sources(plan_of(config.text));
  }
}

// Families whose configuration class gives every size.
constexpr std::string_view kRotary[] = {
    "llama",   "mistral", "mixtral", "qwen2",      "qwen2_moe",        "qwen3",       "qwen3_moe",  "gemma",
    "gemma2",  "gemma3",  "phi",     "phi3",       "gpt_neox",         "gptj",        "stablelm",   "cohere",
    "cohere2", "glm",     "glm4",    "glm4_moe",   "deepseek_v2",      "deepseek_v3", "olmo",       "olmo2",
    "olmo3",   "olmoe",   "granite", "granitemoe", "smollm3",          "exaone4",     "llama4",     "gpt_oss",
    "falcon",  "codegen", "dbrx",    "internlm3",  "granitemoehybrid", "nemotron_h",  "minimax_m2", "ministral3",
    "phimoe"};

TEST(ReadPlanSources, a_file_of_nothing_but_its_type_has_its_classs_values) {
  for (const std::string_view name : kRotary) {
    SCOPED_TRACE(name);
    const plan::Family* const row = plan::find_family(name);
    ASSERT_NE(row, nullptr);
    const plan::Family& family = *row;
    // ChatGLM's class is not in transformers; the sizes in Glm4MoeConfig do not go together (4096 over 96 heads).
    if (family.name == "chatglm" || family.name == "glm4_moe") continue;
    const Plan plan = plan_of("{\"model_type\": \"" + std::string(family.model_types.front()) + "\"}");
    EXPECT_TRUE(plan.known);
    expect_sound_sources(plan);
    for (const ValueSource& source : plan.sources) EXPECT_TRUE(source.from.starts_with("default: ")) << source.where;
  }
}

TEST(ReadPlanSources, unread_keys_are_listed_in_file_order) {
  const Plan plan = plan_of(R"({"vocab_size": 9, "model_type": "llama", "rope_scaling": {"b": 1, "type": "linear",
    "factor": 2, "a": 1}, "hidden_size": 64, "head_dim": 8, "vision": {"x": 1, "y": [2]}, "a/b~": null})");
  EXPECT_EQ(plan.ignored_keys,
            (Strings{"/vocab_size", "/rope_scaling/b", "/rope_scaling/a", "/hidden_size", "/vision", "/a~1b~0"}));
}

TEST(ReadPlanSources, keys_that_are_switched_off_are_not_read) {
  const Plan plan = plan_of(R"({"model_type": "qwen2", "use_sliding_window": false, "sliding_window": 4096,
    "max_window_layers": 21, "layer_types": ["full_attention"]})");
  EXPECT_EQ(plan.ignored_keys, (Strings{"/sliding_window", "/max_window_layers", "/layer_types"}));
}

TEST(ReadPlanSources, inside_a_text_config) {
  const Plan plan =
      plan_of(with(family_config("gemma3 v5"), R"("head_dim": 256)", R"("head_dim": 256, "vocab_size": 3)"));
  EXPECT_EQ(plan.ignored_keys, Strings{"/text_config/vocab_size"});
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-1/head_dim"), "/text_config/head_dim");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/1/rotate/0/base"),
            "/text_config/rope_parameters/full_attention/rope_theta");
}

TEST(ReadPlanSources, a_repeated_key_is_listed_once) {
  const Plan plan = plan_of(R"({"model_type": "llama", "x": 1, "y": 2, "x": 3})");
  EXPECT_EQ(plan.ignored_keys, (Strings{"/x", "/y"}));
}

// Every key of every config: with its name misspelt, the plan, its sources or its warnings change, and the list of
// ignored keys names it. (A class, and a text stack's own type, decide nothing beside the model's.)
TEST(ReadPlanSources, a_spoilt_key_never_goes_unnoticed) {
  for (const FamilyConfig& config : family_configs()) {
    const Plan plan = plan_of(config.text);
    EXPECT_TRUE(plan.ignored_keys.empty()) << config.id << ": " << plan.ignored_keys.front();
    std::size_t at = 0;
    while ((at = config.text.find("\": ", at)) != std::string_view::npos) {
      std::string spoilt(config.text);
      spoilt.insert(at, "_x");
      const std::string_view before = config.text.substr(0, at);
      const bool is_name = before.ends_with("architectures") ||
                           (before.ends_with("model_type") && before.find("text_config") != std::string_view::npos);
      at += 3;
      const Result<Plan> other = read(spoilt);
      if (!other) continue;
      const bool changed = other->stacks != plan.stacks || other->trained_length != plan.trained_length ||
                           other->sources != plan.sources || other->known != plan.known ||
                           other->model_type != plan.model_type;
      EXPECT_TRUE(is_name || changed || other->warnings != plan.warnings) << config.id << "\n" << spoilt;
      const auto is_spoilt = [](const std::string& pointer) { return pointer.ends_with("_x"); };
      EXPECT_TRUE(std::ranges::any_of(other->ignored_keys, is_spoilt)) << config.id << "\n" << spoilt;
    }
  }
}

}  // namespace
}  // namespace posenc::test::read_plan_sources_test
