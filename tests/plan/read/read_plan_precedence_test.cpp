// Which key wins, and that the loser is told with both values.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/families/family_configs.h"
#include "plan/read/plan_reading.h"

namespace posenc::test::read_plan_precedence_test {
namespace {

// A llama with these keys besides its sizes.
std::string llama(std::string_view keys) {
  return R"({"model_type": "llama", "head_dim": 64, "num_attention_heads": 8, "num_hidden_layers": 2,
    "max_position_embeddings": 16384, )" +
         std::string(keys) + "}";
}

struct Row {
  std::string id;
  std::string text;
  double base;
  Scaling scaling;
  std::vector<std::string> losers;  // pointers in `precedence` warnings, second of each pair; empty: no warning
};

const Row kRows[] = {
    {"scaling beats parameters",
     llama(R"("rope_theta": 1e4, "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e6},
       "rope_scaling": {"rope_type": "linear", "factor": 8.0})"),
     1e4,
     LinearScaling{8},
     {"/rope_parameters"}},
    {"scaling that repeats parameters",
     llama(R"("rope_theta": 1e6, "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e6},
       "rope_scaling": {"type": "linear", "factor": 2})"),
     1e6,
     LinearScaling{2},
     {}},
    {"scaling beats parameters as a whole",
     llama(R"("rope_parameters": {"rope_theta": 1e6}, "rope_scaling": {"rope_type": "linear", "factor": 8.0})"),
     1e4,
     LinearScaling{8},
     {"/rope_parameters"}},
    {"null parameters are absent",
     llama(R"("rope_theta": 1e5, "rope_parameters": null, "rope_scaling": {"rope_type": "linear", "factor": 8.0})"),
     1e5,
     LinearScaling{8},
     {}},
    {"rope_type beats type",
     llama(R"("rope_theta": 1e4, "rope_scaling": {"type": "dynamic", "rope_type": "linear", "factor": 2.0})"),
     1e4,
     LinearScaling{2},
     {"/rope_scaling/type"}},
    {"type and rope_type that mean the same",
     llama(R"("rope_theta": 1e4, "rope_scaling": {"type": "mrope", "rope_type": "default"})"),
     1e4,
     {},
     {}},
    {"the dictionary's base beats the top's",
     llama(R"("rope_theta": 1e4, "rope_scaling": {"rope_type": "linear", "factor": 2.0, "rope_theta": 3e4})"),
     3e4,
     LinearScaling{2},
     {"/rope_theta"}},
    {"the dictionary's original length beats the top's for yarn",
     llama(R"("auto_map": {}, "rope_theta": 1e4, "original_max_position_embeddings": 2048,
       "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096})"),
     1e4,
     YarnScaling{4, 4096, {}, {}, {}, {}, {}, true},
     {"/original_max_position_embeddings"}},
    {"the top's original length stands in for yarn",
     llama(R"("auto_map": {}, "rope_theta": 1e4, "original_max_position_embeddings": 4096,
       "rope_scaling": {"rope_type": "yarn", "factor": 4.0})"),
     1e4,
     YarnScaling{4, 4096, {}, {}, {}, {}, {}, true},
     {}},
    {"the first of two names for one thing",
     llama(R"("auto_map": {}, "rope_theta": 2e4, "rotary_emb_base": 3e4)"),
     2e4,
     {},
     {"/rotary_emb_base"}},
};

TEST(ReadPlanPrecedence, table) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.id);
    const Plan plan = plan_of(row.text);
    EXPECT_EQ(rope_of(plan).base, row.base);
    EXPECT_TRUE(rope_of(plan).scaling == row.scaling) << describe(rope_of(plan).scaling);
    std::vector<std::string> losers;
    for (const Warning& warning : plan.warnings) {
      ASSERT_EQ(warning.code, "precedence") << warning.message;
      ASSERT_EQ(warning.keys.size(), 2U);
      losers.push_back(warning.keys[1]);
      EXPECT_NE(std::ranges::find(plan.ignored_keys, warning.keys[1]), plan.ignored_keys.end()) << warning.keys[1];
    }
    std::ranges::sort(losers);
    EXPECT_EQ(losers, row.losers);
  }
}

TEST(ReadPlanPrecedence, both_values_are_told) {
  const Plan plan = plan_of(llama(R"("rope_theta": 10000.0, "rope_parameters": {"rope_theta": 500000})"));
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_NE(plan.warnings[0].message.find("500000"), std::string::npos) << plan.warnings[0].message;
  EXPECT_NE(plan.warnings[0].message.find("10000.0"), std::string::npos) << plan.warnings[0].message;
}

TEST(ReadPlanPrecedence, the_tops_original_length_beats_the_dictionarys_for_longrope) {
  const std::string text =
      with(family_config("phi3"), R"("type": "su")", R"("type": "su", "original_max_position_embeddings": 1024)");
  const Plan plan = plan_of(text);
  EXPECT_EQ(std::get<LongRopeScaling>(rope_of(plan).scaling).original_max_position_embeddings, 4096);
  EXPECT_EQ(codes(plan), std::vector<std::string>{"precedence"});
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-1/rotate/0/scaling/original_max_position_embeddings"),
            "/original_max_position_embeddings");
}

TEST(ReadPlanPrecedence, a_dictionary_per_layer_type_beats_flat_keys_beside_it) {
  const Plan plan =
      plan_of(R"({"model_type": "gemma3_text", "hidden_size": 512, "num_attention_heads": 8, "head_dim": 64,
    "num_key_value_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 32768, "sliding_window": 512,
    "layer_types": ["sliding_attention", "full_attention"],
    "rope_parameters": {"rope_theta": 7e4, "sliding_attention": {"rope_type": "default", "rope_theta": 2e4},
      "full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 9e4}}})");
  EXPECT_EQ(rope_of(plan, 0).base, 2e4);
  EXPECT_EQ(rope_of(plan, 1).base, 9e4);
  EXPECT_TRUE(rope_of(plan, 1).scaling == Scaling(LinearScaling{4}));
  EXPECT_EQ(codes(plan), std::vector<std::string>{"unknown-rope-key"});
}

TEST(ReadPlanPrecedence, a_class_that_rotates_all_layers_alike_finds_no_dictionary_of_a_layer_type) {
  const Plan plan = plan_of(R"({"model_type": "qwen2", "hidden_size": 512, "num_attention_heads": 8,
    "num_key_value_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 32768, "use_sliding_window": true,
    "sliding_window": 512, "layer_types": ["sliding_attention", "full_attention"],
    "rope_parameters": {"rope_theta": 7e4, "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}})");
  EXPECT_EQ(rope_of(plan, 0).base, 7e4);
  EXPECT_EQ(codes(plan), std::vector<std::string>{"unknown-rope-key"});
}

TEST(ReadPlanPrecedence, a_per_type_family_has_no_use_for_flat_parameters) {
  const Plan plan = plan_of(with(family_config("olmo3"), "rope_scaling", "rope_parameters"));
  EXPECT_TRUE(rope_of(plan, 3).scaling == Scaling());
  EXPECT_EQ(codes(plan), std::vector<std::string>{"unknown-rope-key"});
}

TEST(ReadPlanPrecedence, gpt_neox_reads_its_own_names_first) {
  const Plan plan = plan_of(with(family_config("gpt_neox"), R"("rotary_pct")",
                                 R"("rope_theta": 1e4, "partial_rotary_factor": 0.5, "rotary_pct")"));
  EXPECT_EQ(rope_of(plan).base, 25000);
  EXPECT_EQ(rope_of(plan).dim, 16);
  EXPECT_EQ(codes(plan), std::vector<std::string>{"misleading-key"});
}

TEST(ReadPlanPrecedence, layer_types_beat_a_pattern) {
  const Plan plan =
      plan_of(with(family_config("gemma3 v5"), R"("layer_types")", R"("sliding_window_pattern": 6, "layer_types")"));
  EXPECT_FALSE(layer_of(plan, 1).mask.window.has_value());
  EXPECT_EQ(codes(plan), std::vector<std::string>{"precedence"});
  const Plan agreeing =
      plan_of(with(family_config("gemma3 v5"), R"("layer_types")", R"("sliding_window_pattern": 2, "layer_types")"));
  EXPECT_TRUE(agreeing.warnings.empty());
}

TEST(ReadPlanPrecedence, the_text_config_beats_the_top) {
  const Plan plan = plan_of(with(family_config("gemma3 v5"), R"("text_config")",
                                 R"("num_hidden_layers": 99, "head_dim": 256, "text_config")"));
  EXPECT_EQ(plan.stacks[0].layers.size(), 2U);
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_EQ(plan.warnings[0].keys, (std::vector<std::string>{"/text_config/num_hidden_layers", "/num_hidden_layers"}));
}

}  // namespace
}  // namespace posenc::test::read_plan_precedence_test
