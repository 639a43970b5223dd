// Keys of a rule that transformers' functions read from one place alone: truncate, and partial_rotary_factor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/read/plan_reading.h"

namespace posenc::test::read_plan_rope_places_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kYarn = R"("rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192)";

// Two layers, one of each type.
std::string of_types(std::string_view model_type, std::string_view keys) {
  return R"({"model_type": ")" + std::string(model_type) + R"(", "hidden_size": 512, "num_attention_heads": 8,
    "head_dim": 64, "num_key_value_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 32768,
    "sliding_window": 512, "layer_types": ["sliding_attention", "full_attention"], )" +
         std::string(keys) + "}";
}

// `full` in the dictionary of full layers, `top` beside the dictionaries.
std::string nested(std::string_view full, std::string_view top) {
  return of_types("gemma3_text", R"("rope_parameters": {"sliding_attention": {"rope_type": "default"},
    "full_attention": {)" + std::string(kYarn) + std::string(full) +
                                     "}" + std::string(top) + "}");
}

bool truncates(const Plan& plan, std::size_t layer) {
  return std::get<YarnScaling>(rope_of(plan, layer).scaling).truncate;
}

TEST(ReadPlanRopePlaces, truncate_of_one_layer_type_is_read_by_no_class) {
  const Plan plan = plan_of(nested(R"(, "truncate": false)", ""));
  EXPECT_TRUE(plan.known);
  EXPECT_TRUE(truncates(plan, 1));
  EXPECT_EQ(codes(plan), std::vector<std::string>{"precedence"});
  EXPECT_THAT(plan.warnings[0].message, HasSubstr("/full_attention/truncate is false"));
  EXPECT_THAT(plan.ignored_keys, Contains("/rope_parameters/full_attention/truncate"));
  EXPECT_THAT(codes(plan_of(nested(R"(, "truncate": true)", ""))), IsEmpty());
}

TEST(ReadPlanRopePlaces, truncate_beside_the_layer_types_is_that_of_all) {
  const Plan plan = plan_of(nested("", R"(, "truncate": false)"));
  EXPECT_FALSE(truncates(plan, 1));
  EXPECT_THAT(codes(plan), IsEmpty());
  const Plan both = plan_of(nested(R"(, "truncate": true)", R"(, "truncate": false)"));
  EXPECT_FALSE(truncates(both, 1));
  EXPECT_THAT(codes(both), ElementsAre("precedence"));
}

TEST(ReadPlanRopePlaces, classes_put_the_old_dictionary_into_those_of_layer_types) {
  const std::string old = R"("rope_scaling": {)" + std::string(kYarn) + R"(, "truncate": false})";
  EXPECT_TRUE(truncates(plan_of(of_types("olmo3", old)), 1));
  EXPECT_TRUE(truncates(plan_of(of_types("modernbert", old + R"(, "local_attention": 128)")), 0));
  EXPECT_FALSE(truncates(plan_of(of_types("qwen2", old)), 1));
  // Code of its own beside the file reads the dictionary that the file has.
  EXPECT_FALSE(truncates(plan_of(of_types("olmo3", R"("auto_map": {}, )" + old)), 1));
}

TEST(ReadPlanRopePlaces, null_is_no_yes) {
  const std::string flat = R"("rope_scaling": {)" + std::string(kYarn) + R"(, "truncate": null})";
  EXPECT_FALSE(truncates(plan_of(of_types("qwen2", flat)), 0));
  EXPECT_FALSE(truncates(plan_of(nested("", R"(, "truncate": null)")), 1));
}

std::string compressed(std::string_view parameters) {
  return R"({"model_type": "deepseek_v4", "num_hidden_layers": 2,
    "layer_types": ["sliding_attention", "heavily_compressed_attention"], "rope_parameters": )" +
         std::string(parameters) + "}";
}

TEST(ReadPlanRopePlaces, deepseek_v4_takes_its_two_dictionaries_as_they_are) {
  const auto of = [](std::string_view more) {
    return R"("compress": {)" + std::string(kYarn) + R"(, "rope_theta": 160000.0)" + std::string(more) + "}";
  };
  const std::string main = R"("main": {"rope_type": "default", "rope_theta": 10000.0}, )";
  const auto factor = [](const Plan& plan) {
    return std::get<YarnScaling>(rope_of(plan, 1).scaling).attention_factor;
  };
  // A dictionary that the class makes has the factor 1, one that it is given none.
  EXPECT_EQ(factor(plan_of(compressed("{" + std::string(kYarn) + "}"))), 1.0);
  EXPECT_EQ(factor(plan_of(compressed("{" + main + of("") + "}"))), std::nullopt);
  EXPECT_TRUE(truncates(plan_of(compressed("{" + main + of(R"(, "truncate": false)") + "}")), 1));
  EXPECT_TRUE(truncates(plan_of(compressed("{" + std::string(kYarn) + R"(, "truncate": false})")), 1));
  // One of them alone is none: what stands beside it counts.
  EXPECT_TRUE(std::holds_alternative<std::monostate>(rope_of(plan_of(compressed("{" + of("") + "}")), 1).scaling));
}

std::string latent(std::string_view model_type, std::string_view parameters) {
  return R"({"model_type": ")" + std::string(model_type) + R"(", "hidden_size": 64, "num_attention_heads": 4,
    "num_key_value_heads": 4, "num_hidden_layers": 1, "max_position_embeddings": 32768, "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8, "v_head_dim": 8, "kv_lora_rank": 16, "q_lora_rank": 16, "rope_parameters": {)" +
         std::string(parameters) + "}}";
}

TEST(ReadPlanRopePlaces, a_part_that_only_the_function_of_a_rule_reads_leaves_the_stack_unknown) {
  const std::string part = std::string(kYarn) + R"(, "partial_rotary_factor": 0.25)";
  for (const std::string_view type : {"axk1", "youtu", "deepseek_v3"}) {
    SCOPED_TRACE(type);
    const Plan plan = plan_of(latent(type, part));
    EXPECT_FALSE(plan.known);
    EXPECT_THAT(plan.stacks[0].unknown,
                ElementsAre(HasSubstr("/rope_parameters/partial_rotary_factor is 0.25: under the rule yarn")));
    EXPECT_THAT(plan.stacks[0].unknown, ElementsAre(HasSubstr("of 2 channels, and its class rotates 8")));
    EXPECT_TRUE(plan_of(latent(type, std::string(kYarn))).known);
    EXPECT_TRUE(plan_of(latent(type, std::string(kYarn) + R"(, "partial_rotary_factor": 1.0)")).known);
    // Without a rule the class makes the frequencies, and reads no such key.
    EXPECT_TRUE(plan_of(latent(type, R"("rope_type": "default", "partial_rotary_factor": 0.25)")).known);
  }
}

TEST(ReadPlanRopePlaces, a_part_beside_the_dictionary_counts_too) {
  const auto llama = [](const std::string& more) {
    return plan_of(R"({"model_type": "llama", "head_dim": 64, "num_attention_heads": 8, "num_hidden_layers": 2,
      "max_position_embeddings": 16384, "rope_scaling": {"rope_type": "linear", "factor": 2.0})" +
                   more + "}");
  };
  EXPECT_TRUE(llama("").known);
  EXPECT_FALSE(llama(R"(, "partial_rotary_factor": 0.5)").known);
  EXPECT_TRUE(llama(R"(, "partial_rotary_factor": 0.5, "auto_map": {})").known);
  EXPECT_FALSE(plan_of(nested(R"(, "partial_rotary_factor": 0.5)", "")).known);
}

// Mistral 4's class puts its part of the whole head into its own dictionary.
TEST(ReadPlanRopePlaces, mistral_4_has_a_part_of_the_whole_head) {
  EXPECT_TRUE(plan_of(latent("mistral4", std::string(kYarn))).known);
  EXPECT_TRUE(plan_of(latent("mistral4", std::string(kYarn) + R"(, "partial_rotary_factor": 0.5)")).known);
  EXPECT_FALSE(plan_of(latent("mistral4", std::string(kYarn) + R"(, "partial_rotary_factor": 1.0)")).known);
  EXPECT_FALSE(plan_of(with(latent("mistral4", std::string(kYarn)), "rope_parameters", "rope_scaling")).known);
}

// What classes put into a dictionary that has no part of its own (standardize_rope_params).
TEST(ReadPlanRopePlaces, a_part_beside_dictionaries_of_layer_types_is_theirs) {
  const std::string types = R"("rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1e4},
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 1.0}},
    "partial_rotary_factor": 0.5)";
  const Plan plan = plan_of(of_types("mellum", types));
  EXPECT_EQ(rope_of(plan, 0).dim, 64);
  EXPECT_EQ(rope_of(plan, 1).dim, 32);
  EXPECT_THAT(codes(plan), IsEmpty());
}

}  // namespace
}  // namespace posenc::test::read_plan_rope_places_test
