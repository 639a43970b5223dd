// What cannot be read of one stack leaves that stack unknown, with the missing fact named, and the rest as it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "plan/plan_summary.h"
#include "plan/read/plan_reading.h"

namespace posenc::test::read_plan_unknown_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kText = R"("hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
  "num_hidden_layers": 2, "max_position_embeddings": 128, "rope_theta": 1e4)";

std::string llama(std::string_view more) {
  return R"({"model_type": "llama", )" + std::string(kText) + ", " + std::string(more) + "}";
}

std::string llava(std::string_view vision, std::string_view more_text = "") {
  return R"({"model_type": "llava", "text_config": {"model_type": "llama", )" + std::string(kText) +
         std::string(more_text) + R"(}, "vision_config": )" + std::string(vision) + "}";
}

// A stack without layers that is not known, for one reason that holds these words.
void expect_unread(const Stack& stack, std::string_view name, std::string_view words) {
  EXPECT_EQ(stack.name, name);
  EXPECT_FALSE(stack.known);
  EXPECT_THAT(stack.layers, IsEmpty());
  EXPECT_THAT(stack.input, IsEmpty());
  EXPECT_THAT(stack.unknown, ElementsAre(HasSubstr(std::string(words))));
}

void expect_read(const Stack& stack, std::string_view text) {
  EXPECT_TRUE(stack.known);
  EXPECT_THAT(stack.unknown, IsEmpty());
  EXPECT_EQ(summary(stack), text);
}

constexpr std::string_view kDecoder = "decoder: 0-1 4/2x16 half 16 @10000 s0.25 causal";

TEST(ReadPlanUnknown, a_rule_without_a_name_here_is_a_fact_that_is_missing) {
  for (const std::string_view rule : {"ntk", "xdrope", "axial", "yarm", "some-rule"}) {
    SCOPED_TRACE(rule);
    const Plan plan = plan_of(llama(R"("rope_scaling": {"rope_type": ")" + std::string(rule) + R"(", "factor": 2})"));
    EXPECT_FALSE(plan.known);
    ASSERT_EQ(plan.stacks.size(), 1U);
    expect_unread(plan.stacks[0], "decoder", rule);
    EXPECT_THAT(plan.stacks[0].unknown[0], HasSubstr("/rope_scaling/rope_type"));
    EXPECT_THAT(codes(plan), ElementsAre("undecided"));
    EXPECT_EQ(plan.trained_length, std::nullopt);
  }
  EXPECT_THAT(plan_of(llama(R"("rope_scaling": {"rope_type": "yarm"})")).stacks[0].unknown[0],
              HasSubstr("did you mean yarn?"));
}

TEST(ReadPlanUnknown, the_text_stays_beside_a_tower_that_cannot_be_read) {
  struct Odd {
    std::string_view vision;
    std::string_view words;
  };
  for (const Odd& odd :
       {Odd{R"({"model_type": "siglip_vision_model", "num_hidden_layers": 0})", "got 0"},
        Odd{R"({"model_type": "qwen2_5_vl_vision", "depth": 2, "num_heads": 0})", "/vision_config/num_heads"},
        Odd{R"({"model_type": "gemma4_vision", "head_dim": 0})", "/vision_config/head_dim"},
        Odd{R"({"model_type": "intern_vit_6b", "hidden_size": 16, "num_attention_heads": 2})", "num_hidden_layers"},
        Odd{R"({"model_type": "pixtral", "rope_parameters": {"rope_type": "xdrope"}})", "xdrope"},
        Odd{R"({"model_type": "no_such_tower", "num_hidden_layers": 3})", "no_such_tower"}}) {
    SCOPED_TRACE(odd.vision);
    const Plan plan = plan_of(llava(odd.vision));
    EXPECT_FALSE(plan.known);
    ASSERT_EQ(plan.stacks.size(), 2U);
    expect_read(plan.stacks[0], kDecoder);
    EXPECT_EQ(plan.trained_length, 128);
    EXPECT_FALSE(plan.stacks[1].known);
    EXPECT_THAT(plan.stacks[1].layers, IsEmpty());
    EXPECT_EQ(plan.stacks[1].name, "vision");
    EXPECT_THAT(plan.stacks[1].unknown, Contains(HasSubstr(std::string(odd.words))));
    EXPECT_THAT(codes(plan), Contains("undecided"));
  }
}

TEST(ReadPlanUnknown, a_tower_stays_beside_a_text_stack_that_cannot_be_read) {
  const Plan plan = plan_of(llava(R"({"model_type": "clip_vision_model", "hidden_size": 16, "num_attention_heads": 2,
    "num_hidden_layers": 1, "image_size": 8, "patch_size": 4})",
                                  R"(, "head_dim": 0)"));
  EXPECT_FALSE(plan.known);
  ASSERT_EQ(plan.stacks.size(), 2U);
  expect_unread(plan.stacks[0], "decoder", "/text_config/head_dim");
  expect_read(plan.stacks[1], "vision: table 5+0; 0 2/2x8 s0.353553 both");
}

TEST(ReadPlanUnknown, each_object_of_a_wrapper_without_a_row_is_a_stack) {
  const Plan plan =
      plan_of(R"({"model_type": "wrapper9", "text_config": {"model_type": "llama", )" + std::string(kText) + R"(},
    "encoder_config": {"model_type": "wrapper9_encoder", "num_layers": 2},
    "backbone_config": {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16},
    "quantization_config": {"bits": 4, "quant_method": "awq"}, "rope_note": {"about": "nothing"}})");
  EXPECT_FALSE(plan.known);
  ASSERT_EQ(plan.stacks.size(), 3U);
  expect_read(plan.stacks[0], kDecoder);
  expect_unread(plan.stacks[1], "encoder", "/encoder_config (wrapper9_encoder)");
  expect_unread(plan.stacks[2], "backbone", "/backbone_config");
}

// The class named by architectures may read what the family's does not.
TEST(ReadPlanUnknown, a_position_key_that_only_another_class_may_read_leaves_the_stack_unknown) {
  const auto config = [](std::string_view architecture, std::string_view key) {
    return llama(R"("architectures": [")" + std::string(architecture) + R"("], )" + std::string(key));
  };
  const Plan other = plan_of(config("MyOwnForCausalLM", R"("alibi": true)"));
  EXPECT_FALSE(other.known);
  ASSERT_EQ(other.stacks.size(), 1U);
  EXPECT_FALSE(other.stacks[0].known);
  EXPECT_THAT(other.stacks[0].unknown, ElementsAre(HasSubstr("/alibi")));
  EXPECT_THAT(plan_of(config("MyOwnForCausalLM", R"("rotary_twist": 7)")).stacks[0].unknown,
              ElementsAre(HasSubstr("/rotary_twist")));

  EXPECT_TRUE(plan_of(config("LlamaForCausalLM", R"("alibi": true)")).known);
  EXPECT_TRUE(plan_of(config("MyOwnForCausalLM", R"("alibi": false)")).known);
  EXPECT_TRUE(plan_of(config("MyOwnForCausalLM", R"("vocab_size": 7)")).known);
}

TEST(ReadPlanUnknown, a_family_without_a_row_makes_its_stack_unknown) {
  const Plan plan = plan_of(R"({"model_type": "no_such_model", )" + std::string(kText) + "}");
  EXPECT_FALSE(plan.known);
  ASSERT_EQ(plan.stacks.size(), 1U);
  EXPECT_FALSE(plan.stacks[0].known);
  EXPECT_THAT(plan.stacks[0].unknown, ElementsAre(HasSubstr("no_such_model")));
}

TEST(ReadPlanUnknown, a_tower_that_is_only_named_is_a_stack) {
  for (const std::string_view type : {"llava", "llava_llama"}) {
    const Plan plan = plan_of(R"({"model_type": ")" + std::string(type) + R"(", )" + std::string(kText) +
                              R"(, "mm_vision_tower": "somebody/tower"})");
    ASSERT_EQ(plan.stacks.size(), 2U) << type;
    EXPECT_FALSE(plan.known);
    expect_unread(plan.stacks[1], "vision", "/mm_vision_tower");
  }
  EXPECT_EQ(plan_of(llama(R"("mm_vision_tower": null)")).stacks.size(), 1U);
}

TEST(ReadPlanUnknown, minicpms_tower_has_its_merger_alone_and_in_any_wrapper) {
  constexpr std::string_view kTower = R"({"model_type": "minicpmv4_6_vision", "hidden_size": 16,
    "num_attention_heads": 2, "num_hidden_layers": 3, "image_size": 8, "patch_size": 4})";
  const Plan alone = plan_of(kTower);
  ASSERT_EQ(alone.stacks.size(), 2U);
  EXPECT_EQ(alone.stacks[1].name, "vision_merger");
  EXPECT_THAT(alone.stacks[1].layers.at(0).mask.detail, HasSubstr("windows of 2x2 patches"));
  const Plan inside = plan_of(llava(kTower));
  ASSERT_EQ(inside.stacks.size(), 3U);
  EXPECT_EQ(inside.stacks[2].layers, alone.stacks[1].layers);
}

// ---- what is printed of it ----

TEST(ReadPlanUnknown, json_and_text_say_it_before_what_was_read) {
  const Plan plan = plan_of(R"({"model_type": "no_such_model", )" + std::string(kText) + "}");
  const std::string json = to_json(plan);
  EXPECT_THAT(json, HasSubstr("\"known\": false,\n      \"unknown\": [\"no_such_model"));
  const Result<Plan> back = plan_from_json(json);
  ASSERT_TRUE(back.ok()) << back.error().message();
  EXPECT_EQ(*back, plan);
  const std::string text = describe(plan);
  EXPECT_THAT(text, HasSubstr("decoder, 2 layers, not known"));
  EXPECT_THAT(text, HasSubstr("  not known: no_such_model"));
  EXPECT_LT(text.find("not known: no_such_model"), text.find("read: rotate"));

  const std::string known = to_json(plan_of(llama(R"("vocab_size": 7)")));
  EXPECT_EQ(known.find("\"unknown\""), std::string::npos);
}

TEST(ReadPlanUnknown, a_stack_that_was_not_read_has_no_lines_that_look_like_facts) {
  const std::string text = describe(plan_of(llama(R"("rope_scaling": {"rope_type": "ntk"})")));
  EXPECT_THAT(text, HasSubstr("decoder, not known"));
  for (const std::string_view word : {"input:", "rotate:", "0 layers", "mask:"}) {
    EXPECT_EQ(text.find(word), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace posenc::test::read_plan_unknown_test
