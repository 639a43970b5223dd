// What is odd, and how it is read all the same: one test per warning code, with a config that has no reason for it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/families/family_configs.h"
#include "plan/read/plan_reading.h"

namespace posenc::test::read_plan_warnings_test {
namespace {

struct Row {
  std::string id;
  std::string_view config;
  std::string_view from;
  std::string_view to;
  std::string code;
  std::string fragment;  // of the message
  std::string key;       // a pointer among the warning's keys; empty: it has none
};

const Row kRows[] = {
    {"Qwen3 with YaRN 4", "llama yarn", R"("max_position_embeddings": 16384)", R"("max_position_embeddings": 40960)",
     "factor-mismatch", "is 4, but 40960 / 4096 = 10", "/rope_scaling/factor"},
    {"Llama 4 Scout", "llama llama3", R"("high_freq_factor": 4.0)", R"("high_freq_factor": 1)", "equal-freq-factors",
     "both 1", ""},
    {"the window is the whole", "mistral", R"("sliding_window": 4096)", R"("sliding_window": 32768)",
     "window-covers-length", "32768", "/sliding_window"},
    {"original length above the trained one", "llama yarn", R"("original_max_position_embeddings": 4096)",
     R"("original_max_position_embeddings": 32768)", "original-exceeds-max", "32768",
     "/rope_scaling/original_max_position_embeddings"},
    {"original length equal to the trained one", "llama llama3", R"("original_max_position_embeddings": 8192)",
     R"("original_max_position_embeddings": 131072)", "original-exceeds-max", "131072",
     "/rope_scaling/original_max_position_embeddings"},
    {"command-r without a base", "cohere", R"("rope_theta": 8000000.0,)", "", "default-differs", "500000.0", ""},
    {"no original length", "llama yarn", R"("original_max_position_embeddings": 4096,)", "", "missing-original-length",
     "16384", ""},
    {"a count written as a real", "llama", R"("num_hidden_layers": 3)", R"("num_hidden_layers": 3.0)", "integral-float",
     "3.0", "/num_hidden_layers"},
    {"an empty dictionary", "llama", R"("rope_theta")", R"("rope_scaling": {}, "rope_theta")", "misleading-key",
     "empty", "/rope_scaling"},
    {"a key of another family", "llama", R"("rope_theta")", R"("partial_rotary_factor": 0.5, "rope_theta")",
     "misleading-key", "partial_rotary_factor", "/partial_rotary_factor"},
    {"a length that is none", "gpt_oss", R"("rope_theta")", R"("initial_context_length": 4096, "rope_theta")",
     "misleading-key", "initial_context_length", "/initial_context_length"},
    {"GPT-J reads no dictionary", "gptj", R"("rotary_dim")",
     R"("rope_scaling": {"type": "linear", "factor": 2}, "rotary_dim")", "misleading-key", "rope_scaling",
     "/rope_scaling"},
    {"Gemma 3 does not cap", "gemma3", R"("sliding_window")", R"("attn_logit_softcapping": 50.0, "sliding_window")",
     "misleading-key", "attn_logit_softcapping", "/attn_logit_softcapping"},
    {"a factor below one", "llama linear", R"("factor": 2.0)", R"("factor": 0.5)", "factor-below-one", "0.5",
     "/rope_scaling/factor"},
    {"a key that no rule reads", "llama linear", R"("factor": 2.0)", R"("factor": 2.0, "finetuned": true)",
     "unknown-rope-key", "finetuned", "/rope_scaling/finetuned"},
    {"a draft model", "llama", R"("LlamaForCausalLM")", R"("LlamaForCausalLMEagle3")", "architecture-mismatch",
     "LlamaForCausalLMEagle3", "/architectures"},
    {"another stack", "llama", R"("rope_theta")", R"("vision_config": {"hidden_size": 8}, "rope_theta")", "undecided",
     "vision_config", "/vision_config"},
    {"an unused key twice", "llama", R"("rope_theta")", R"("note": 1, "note": 2, "rope_theta")", "duplicate-key",
     "/note", "/note"},
    {"a byte order mark", "llama", "{", "\xEF\xBB\xBF{", "byte-order-mark", "byte order mark", ""},
    {"nothing rotates", "glm", R"("partial_rotary_factor": 0.5)", R"("partial_rotary_factor": 0)", "no-rotation",
     "no channel", "/partial_rotary_factor"},
    {"nothing is left of it", "llama yarn", R"("attention_factor": 1.25)", R"("attention_factor": 0)", "no-rotation",
     "attention_factor is 0", ""},
};

TEST(ReadPlanWarnings, table) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.id);
    EXPECT_TRUE(plan_of(family_config(row.config)).warnings.empty());
    const Plan plan = plan_of(with(family_config(row.config), row.from, row.to));
    const auto warning = std::ranges::find(plan.warnings, row.code, &Warning::code);
    ASSERT_NE(warning, plan.warnings.end());
    EXPECT_NE(warning->message.find(row.fragment), std::string::npos) << warning->message;
    EXPECT_EQ(warning->keys, row.key.empty() ? std::vector<std::string>{} : std::vector{row.key});
  }
}

TEST(ReadPlanWarnings, only_two_of_them_leave_a_model_unknown) {
  for (const Row& row : kRows) {
    const Plan plan = plan_of(with(family_config(row.config), row.from, row.to));
    EXPECT_EQ(plan.known, row.code != "undecided") << row.id;
  }
}

TEST(ReadPlanWarnings, a_class_and_no_size) {
  const Plan bare = plan_of(R"({"model_type": "llama"})");
  EXPECT_EQ(codes(bare), std::vector<std::string>{"default-sizes"});
  EXPECT_EQ(bare.warnings[0].message,
            "The file gives no layers, no heads and no head_dim: all are defaults of the class (LlamaConfig, "
            "transformers 5.23.0).");
  EXPECT_TRUE(bare.known);
  // What says nothing of the size changes nothing.
  EXPECT_EQ(codes(plan_of(R"({"model_type": "llama", "rope_theta": 500000.0, "max_position_embeddings": 8192})")),
            std::vector<std::string>{"default-sizes"});
  EXPECT_EQ(codes(plan_of(R"({"model_type": "t5"})")), std::vector<std::string>{"default-sizes"});
}

TEST(ReadPlanWarnings, any_size_is_one) {
  for (const std::string_view size :
       {R"("num_hidden_layers": 2)", R"("num_attention_heads": 8)", R"("head_dim": 64)", R"("hidden_size": 2048)"}) {
    const std::string text = R"({"model_type": "llama", )" + std::string(size) + "}";
    EXPECT_TRUE(plan_of(text).warnings.empty()) << size;
  }
  // Of several stacks, one that has a size is enough: LLaVA's language model is saved without what is LlamaConfig's.
  EXPECT_TRUE(plan_of(R"({"model_type": "llava", "text_config": {"model_type": "llama"}, "vision_config": {
      "model_type": "clip_vision_model", "hidden_size": 1024, "image_size": 336, "num_attention_heads": 16,
      "num_hidden_layers": 24, "patch_size": 14}})")
                  .warnings.empty());
}

TEST(ReadPlanWarnings, the_given_factor_is_used_and_not_the_quotient) {
  const Plan plan = plan_of(
      with(family_config("llama yarn"), R"("max_position_embeddings": 16384)", R"("max_position_embeddings": 40960)"));
  EXPECT_EQ(std::get<YarnScaling>(rope_of(plan).scaling).factor, 4);
  const Plan without = plan_of(with(family_config("llama yarn"), R"("factor": 4.0, )", ""));
  EXPECT_EQ(std::get<YarnScaling>(rope_of(without).scaling).factor, 4);
  EXPECT_EQ(source_of(without, "/stacks/0/layers/0-1/rotate/0/scaling/factor"), "default: 16384 / 4096");
}

TEST(ReadPlanWarnings, a_window_that_covers_the_length_is_none) {
  const Plan plan = plan_of(with(family_config("mistral"), R"("sliding_window": 4096)", R"("sliding_window": 32768)"));
  EXPECT_FALSE(layer_of(plan, 0).mask.window.has_value());
  // Switched off, it is not worth a word.
  const Plan off = plan_of(with(family_config("qwen3"), R"("use_sliding_window": false)",
                                R"("use_sliding_window": false, "sliding_window": 40960)"));
  EXPECT_TRUE(off.warnings.empty());
}

TEST(ReadPlanWarnings, pairs_without_an_axis_leave_the_model_unknown) {
  const Plan plan = plan_of(with(family_config("llama"), R"("rope_theta")",
                                 R"("rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]}, "rope_theta")"));
  EXPECT_FALSE(plan.known);
  EXPECT_EQ(codes(plan), std::vector<std::string>{"unknown-rope-key"});
}

TEST(ReadPlanWarnings, chatglm_of_another_layout_is_unknown) {
  const Plan plan = plan_of(with(family_config("chatglm"), R"("original_rope": true)", R"("original_rope": false)"));
  EXPECT_FALSE(plan.known);
  EXPECT_EQ(codes(plan), std::vector<std::string>{"undecided"});
}

// chatglm-6b's two coordinates; 0 and false mean the later models' one.
TEST(ReadPlanWarnings, chatglm_of_two_coordinates_is_unknown) {
  const auto with_2d = [](const char* value) {
    const std::string key = std::string(R"("position_encoding_2d": )") + value;
    return plan_of(with(family_config("chatglm"), R"("original_rope": true)", key + R"(, "original_rope": true)"));
  };
  EXPECT_FALSE(with_2d("true").known);
  EXPECT_EQ(codes(with_2d("true")), std::vector<std::string>{"undecided"});
  EXPECT_TRUE(with_2d("false").known);
}

TEST(ReadPlanWarnings, zero_betas_are_the_rules_own) {
  const Plan plan = plan_of(
      with(family_config("llama yarn"), R"("beta_fast": 16, "beta_slow": 2)", R"("beta_fast": 0, "beta_slow": null)"));
  const auto yarn = std::get<YarnScaling>(rope_of(plan).scaling);
  EXPECT_FALSE(yarn.beta_fast.has_value());
  EXPECT_FALSE(yarn.beta_slow.has_value());
}

TEST(ReadPlanWarnings, no_rotation_is_no_rotation) {
  const Plan plan =
      plan_of(with(family_config("glm"), R"("partial_rotary_factor": 0.5)", R"("partial_rotary_factor": 0)"));
  EXPECT_TRUE(layer_of(plan, 0).rotate.empty());
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-1/rotate"), "/partial_rotary_factor");
}

}  // namespace
}  // namespace posenc::test::read_plan_warnings_test
