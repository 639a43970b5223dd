// Families with a choice in their files: which heads share keys, which scheme, which rule; and what is said of families
// that are not known.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "plan/families/family_configs.h"
#include "plan/read/plan_reading.h"

namespace posenc::test::read_plan_rotary_test {
namespace {

using Codes = std::vector<std::string>;

// A config of 64 channels in 4 heads, 2 layers, 512 tokens, and the given keys.
std::string config(std::string_view model_type, std::string_view keys) {
  return R"({"model_type": ")" + std::string(model_type) +
         R"(", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 512)" +
         (keys.empty() ? std::string() : ", " + std::string(keys)) + "}";
}

// ---- heads of keys ----

TEST(ReadPlanRotary, falcons_key_heads) {
  EXPECT_EQ(layer_of(plan_of(config("falcon", R"("num_kv_heads": 2)")), 0).kv_heads, 1);
  EXPECT_EQ(layer_of(plan_of(config("falcon", R"("num_kv_heads": 2, "multi_query": false)")), 0).kv_heads, 2);
  EXPECT_EQ(layer_of(plan_of(config("falcon", R"("num_kv_heads": 2, "new_decoder_architecture": true)")), 0).kv_heads,
            2);
  EXPECT_EQ(layer_of(plan_of(config("falcon", R"("new_decoder_architecture": true)")), 0).kv_heads, 4);
  EXPECT_EQ(error_of(config("falcon", R"("num_kv_heads": 3, "multi_query": false)")).kind, ErrorKind::not_divisible);
}

TEST(ReadPlanRotary, keys_of_dbrx_stand_in_an_object) {
  const std::string text = R"({"model_type": "dbrx", "d_model": 64, "n_heads": 4, "n_layers": 1, "max_seq_len": 512,
    "attn_config": {"kv_n_heads": 2, "rope_theta": 5000, "clip_qkv": 8}})";
  const Plan plan = plan_of(text);
  EXPECT_EQ(layer_of(plan, 0).kv_heads, 2);
  EXPECT_EQ(rope_of(plan).base, 5000);
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0/rotate/0/base"), "/attn_config/rope_theta");
  // Beside the object they count where the object has none, and lose where it has one.
  const Plan outside = plan_of(with(text, R"("n_layers": 1)", R"("n_layers": 1, "rope_theta": 7)"));
  EXPECT_EQ(rope_of(outside).base, 5000);
  EXPECT_EQ(codes(outside), (Codes{"lost-by-class", "precedence"}));
  EXPECT_EQ(codes(plan), Codes{"lost-by-class"});
  const Plan without = plan_of(with(text, R"(, "rope_theta": 5000)", ""));
  EXPECT_EQ(rope_of(without).base, 10000);
  EXPECT_EQ(codes(without), Codes{});
  EXPECT_EQ(layer_of(plan_of(with(text, R"("kv_n_heads": 2, )", "")), 0).kv_heads, 1);
}

TEST(ReadPlanRotary, blocks_of_nemotron_nas) {
  const std::string text = config("nemotron-nas", R"("rope_theta": 500000, "block_configs": [
    {"attention": {"n_heads_in_group": 2, "no_op": false}}, {"attention": {"n_heads_in_group": null, "no_op": true}}])");
  const Plan plan = plan_of(text);
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(layer_of(plan, 0).kv_heads, 2);
  EXPECT_EQ(layer_of(plan, 1).kind, LayerKind::none);
  EXPECT_EQ(rope_of(plan).pairing, Pairing::half);
  const auto typed = [&](std::string_view type) {
    return rope_of(plan_of(with(text, R"("rope_theta")",
                                R"("position_embedding_type": ")" + std::string(type) + R"(", "rope_theta")")))
        .pairing.get();
  };
  EXPECT_EQ(typed("rope"), Pairing::half);
  EXPECT_EQ(typed("mistral_yarn"), Pairing::interleaved);
  EXPECT_EQ(typed("rope_llama4"), Pairing::interleaved);
  EXPECT_EQ(error_of(with(text, R"("n_heads_in_group": 2)", R"("n_heads_in_group": 3)")).kind,
            ErrorKind::not_divisible);
}

// ---- which scheme ----

TEST(ReadPlanRotary, alibi_takes_the_place_of_a_rotation) {
  const Plan falcon = plan_of(config("falcon", R"("alibi": true)"));
  EXPECT_TRUE(layer_of(falcon, 0).rotate.empty());
  ASSERT_EQ(layer_of(falcon, 0).score.size(), 1U);
  EXPECT_EQ(std::get<Alibi>(layer_of(falcon, 0).score[0]),
            (Alibi{.heads = 4, .scaled = true, .form = AlibiForm::column_bfloat16}));
  const Plan olmo = plan_of(config("hf_olmo", R"("alibi": true, "alibi_bias_max": 4)"));
  EXPECT_EQ(std::get<Alibi>(layer_of(olmo, 0).score.at(0)), (Alibi{.heads = 4, .max_bias = 4}));
  const Plan twelve = plan_of(with(config("hf_olmo", R"("alibi": true)"), R"(64, "num_attention_heads": 4)",
                                   R"(96, "num_attention_heads": 12)"));
  EXPECT_EQ(std::get<Alibi>(layer_of(twelve, 0).score.at(0)), (Alibi{.heads = 12, .geometric_slopes = true}));
  EXPECT_EQ(error_of(config("hf_olmo", R"("alibi": true, "alibi_bias_max": 0)")).path, "/alibi_bias_max");
}

TEST(ReadPlanRotary, olmo_has_a_table_where_nothing_else_is_on) {
  const Plan table = plan_of(config("hf_olmo", R"("rope": false, "alibi": false)"));
  EXPECT_TRUE(table.known);
  EXPECT_EQ(table.stacks.at(0).input, (std::vector<InputScheme>{LearnedInput{.positions = 512}}));
  const Plan rotating = plan_of(config("hf_olmo", R"("rope": true, "alibi": true, "multi_query_attention": true)"));
  EXPECT_TRUE(rotating.stacks.at(0).input.empty() && layer_of(rotating, 0).score.empty());
  EXPECT_EQ(rope_of(rotating).base, 10000);
  EXPECT_EQ(layer_of(rotating, 0).kv_heads, 1);
  EXPECT_EQ(codes(plan_of(config("hf_olmo", R"("rope": true, "attention_layer_norm": true)"))), Codes{"undecided"});
}

TEST(ReadPlanRotary, baichuans_width_decides) {
  const auto of_width = [](std::string_view width) {
    return plan_of(with(config("baichuan", ""), R"("hidden_size": 64)", R"("hidden_size": )" + std::string(width)));
  };
  EXPECT_EQ(rope_of(of_width("4096")).base, 10000);
  EXPECT_EQ(std::get<Alibi>(layer_of(of_width("5120"), 0).score.at(0)).scaled, false);
  const Plan neither = of_width("2048");
  EXPECT_FALSE(neither.known);
  EXPECT_EQ(codes(neither), Codes{"undecided"});
  EXPECT_TRUE(layer_of(neither, 0).rotate.empty() && layer_of(neither, 0).score.empty());
}

TEST(ReadPlanRotary, granite_rotates_only_where_it_says_rope) {
  const std::string keys = R"("attention_multiplier": 0.25, "layer_types": ["attention", "mamba"])";
  const Plan still = plan_of(config("granitemoehybrid", keys));
  EXPECT_TRUE(still.known && layer_of(still, 0).rotate.empty());
  EXPECT_EQ(layer_of(still, 0).softmax_scale, 0.25);
  EXPECT_EQ(layer_of(still, 1).kind, LayerKind::state_space);
  EXPECT_TRUE(
      layer_of(plan_of(config("granitemoehybrid", keys + R"(, "position_embedding_type": "nope")")), 0).rotate.empty());
  EXPECT_EQ(rope_of(plan_of(config("granitemoehybrid", keys + R"(, "position_embedding_type": "rope")"))).dim, 16);
}

// ---- rules, widths and query scales ----

TEST(ReadPlanRotary, qwens_rules_are_measured_against_seq_length) {
  const Plan plan = plan_of(config("qwen", R"("seq_length": 256, "rotary_pct": 0.5)"));
  EXPECT_EQ(plan.trained_length, 256);
  EXPECT_EQ(codes(plan), (Codes{"default-differs", "precedence"}));
  EXPECT_EQ(rope_of(plan).dim, 8);
  EXPECT_EQ(std::get<QwenNtkScaling>(rope_of(plan).scaling).seq_length, 256);
  EXPECT_EQ(std::get<LogNScale>(layer_of(plan, 1).query_scale).seq_length, 256);
  const Plan plain = plan_of(config("qwen", R"("seq_length": 512, "use_dynamic_ntk": false, "use_logn_attn": false,
    "rope_theta": 5000, "rope_scaling": {"type": "linear", "factor": 2})"));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(rope_of(plain).scaling));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(layer_of(plain, 0).query_scale));
  EXPECT_EQ(rope_of(plain).base, 5000);
  EXPECT_EQ(codes(plain), Codes{"misleading-key"});
  EXPECT_EQ(error_of(config("qwen", R"("seq_length": 1)")).path, "/seq_length");
}

TEST(ReadPlanRotary, minimax_counts_channels_or_takes_a_part) {
  EXPECT_EQ(rope_of(plan_of(config("minimax_m2", R"("head_dim": 16, "num_key_value_heads": 4, "rotary_dim": 8)"))).dim,
            8);
  const Plan both = plan_of(config(
      "minimax_m2", R"("head_dim": 16, "num_key_value_heads": 4, "rotary_dim": 8, "partial_rotary_factor": 0.25)"));
  EXPECT_EQ(rope_of(both).dim, 4);
  EXPECT_EQ(layer_of(both, 0).qk_norm->over, QkNorm::Over::all_heads);
}

// As their classes ask `if config.rope_interleave` and `if self.multi_query`: null is false, and not the class's default.
TEST(ReadPlanRotary, flags_that_are_null_are_false) {
  const auto deepseek = [](std::string_view value) {
    const std::string key = R"("rope_interleave": )";
    return rope_of(plan_of(with(family_config("deepseek_v3"), key + "false", key + std::string(value))));
  };
  EXPECT_EQ(deepseek("true").pairing, Pairing::interleaved);
  EXPECT_EQ(deepseek("null").pairing, Pairing::half);
  const auto falcon = [](std::string_view value) {
    return layer_of(plan_of(config("falcon", R"("multi_query": )" + std::string(value))), 0);
  };
  EXPECT_EQ(falcon("true").kv_heads, 1);
  EXPECT_EQ(falcon("null").kv_heads, 4);
}

TEST(ReadPlanRotary, codegen_rotates_the_whole_head_where_rotary_dim_is_null) {
  EXPECT_EQ(rope_of(plan_of(config("codegen", R"("rotary_dim": null)"))).dim, 16);
  EXPECT_EQ(rope_of(plan_of(config("codegen", R"("rotary_dim": 8)"))).pairing, Pairing::interleaved);
  EXPECT_EQ(error_of(config("codegen", "")).path, "");  // the class's 64 channels are more than a head's 16
}

// MiniMaxM3VLTextRotaryEmbedding reads partial_rotary_factor alone.
TEST(ReadPlanRotary, minimax_m3_does_not_read_rotary_dim) {
  for (const std::string_view type : {"minimax_m3", "minimax_m3_vl_text"}) {
    const std::string sizes = R"("head_dim": 16, "num_key_value_heads": 4, "use_sparse_attention": false)";
    const Plan plan = plan_of(config(type, sizes + R"(, "rotary_dim": 8)"));
    EXPECT_EQ(rope_of(plan).dim, 16) << type;
    EXPECT_EQ(codes(plan), std::vector<std::string>{"misleading-key"}) << type;
    EXPECT_EQ(rope_of(plan_of(config(type, sizes + R"(, "partial_rotary_factor": 0.5)"))).dim, 8) << type;
  }
}

TEST(ReadPlanRotary, ministrals_queries_grow) {
  const std::string keys = R"("head_dim": 16, "num_key_value_heads": 4, "rope_parameters": {"rope_type": "default",
    "rope_theta": 1e6, "llama_4_scaling_beta": 0.2, "original_max_position_embeddings": 128})";
  const auto scale = std::get<MinistralTemperature>(layer_of(plan_of(config("ministral3", keys)), 1).query_scale);
  EXPECT_EQ(scale, (MinistralTemperature{.beta = 0.2, .original_max_position_embeddings = 128}));
  EXPECT_EQ(error_of(config("ministral3", with(keys, R"(, "original_max_position_embeddings": 128)", ""))).kind,
            ErrorKind::missing_key);
  // Without a dictionary the class has one: YaRN with a factor of 16, and a beta of 0.1.
  const Plan plan = plan_of(config("ministral3", R"("head_dim": 16, "num_key_value_heads": 4)"));
  EXPECT_EQ(std::get<YarnScaling>(rope_of(plan).scaling).factor, 16);
  EXPECT_EQ(std::get<MinistralTemperature>(layer_of(plan, 0).query_scale).beta, 0.1);
}

TEST(ReadPlanRotary, nemotron_h_does_not_rotate) {
  const Plan plan = plan_of(R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M*E-", "head_dim": 16,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512, "rope_theta": 10000})");
  ASSERT_EQ(plan.stacks.at(0).layers.size(), 4U);
  EXPECT_EQ(layer_of(plan, 0).kind, LayerKind::state_space);
  EXPECT_EQ(layer_of(plan, 1).kind, LayerKind::attention);
  EXPECT_EQ(layer_of(plan, 3).kind, LayerKind::none);
  EXPECT_TRUE(layer_of(plan, 1).rotate.empty());
  EXPECT_EQ(codes(plan), Codes{"misleading-key"});
}

TEST(ReadPlanRotary, gated_linear_attention_has_no_positions) {
  const Plan plan = plan_of(R"({"model_type": "gla", "hidden_size": 64, "num_heads": 4, "num_hidden_layers": 2})");
  EXPECT_TRUE(plan.known);
  EXPECT_FALSE(plan.trained_length.has_value());
  EXPECT_EQ(layer_of(plan, 1).kind, LayerKind::linear_attention);
  EXPECT_FALSE(plan_of(R"({"model_type": "gla", "hidden_size": 64, "num_heads": 4, "num_hidden_layers": 2,
    "attn": {"layers": [1], "num_heads": 4}})")
                   .known);
}

// ---- families that are not known ----

TEST(ReadPlanUnknown, a_base_means_a_rotation) {
  const Plan plan = plan_of(config("no_such_model", R"("rope_theta": 5000, "partial_rotary_factor": 0.5)"));
  EXPECT_FALSE(plan.known);
  EXPECT_EQ(plan.family, "no_such_model");
  EXPECT_EQ(codes(plan), Codes{"unknown-family"});
  EXPECT_EQ(rope_of(plan).base, 5000);
  EXPECT_EQ(rope_of(plan).dim, 8);
  EXPECT_EQ(
      plan_of(config("no_such_model", R"("rope_parameters": {"rope_theta": 7})")).stacks[0].layers[0].rotate.size(),
      1U);
}

TEST(ReadPlanUnknown, a_table_is_read_where_keys_speak_of_one) {
  const Plan absolute = plan_of(config("no_such_model", R"("position_embedding_type": "absolute")"));
  EXPECT_EQ(absolute.stacks.at(0).input, (std::vector<InputScheme>{LearnedInput{.positions = 512}}));
  const Plan positions =
      plan_of(R"({"model_type": "no_such_model", "n_embd": 64, "n_head": 4, "n_layer": 1, "n_positions": 128})");
  EXPECT_EQ(positions.stacks.at(0).input, (std::vector<InputScheme>{LearnedInput{.positions = 128}}));
}

TEST(ReadPlanUnknown, without_such_keys_nothing_is_claimed) {
  const Plan plan = plan_of(config("no_such_model", R"("offset_alibi": 100)"));
  EXPECT_FALSE(plan.known);
  EXPECT_EQ(codes(plan), (Codes{"misleading-key", "unknown-family"}));
  EXPECT_TRUE(plan.stacks.at(0).input.empty());
  EXPECT_TRUE(layer_of(plan, 0).rotate.empty() && layer_of(plan, 0).score.empty());
}

TEST(ReadPlanUnknown, without_sizes_there_are_no_stacks) {
  const Plan plan = plan_of(R"({"model_type": "no_such_model", "hidden_size": 64, "rope_theta": 1e4})");
  EXPECT_FALSE(plan.known);
  EXPECT_TRUE(plan.stacks.empty());
  EXPECT_EQ(codes(plan), Codes{"unknown-family"});
}

TEST(ReadPlanUnknown, the_first_of_architectures_decides_where_no_type_is_given) {
  const Plan plan = plan_of(
      with(config("x", R"("rope_theta": 1e4)"), R"("model_type": "x")", R"("architectures": ["LlamaForCausalLM"])"));
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(plan.family, "llama");
  EXPECT_EQ(codes(plan), Codes{"no-model-type"});
  const Plan neither = plan_of(with(config("x", ""), R"("model_type": "x", )", ""));
  EXPECT_EQ(codes(neither), Codes{"unknown-family"});
  EXPECT_EQ(neither.stacks.size(), 1U);
}

}  // namespace
}  // namespace posenc::test::read_plan_rotary_test
