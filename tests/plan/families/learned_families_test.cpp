// Decoders that add a learned table or ALiBi, by small configs of our own.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "plan/read/plan_reading.h"

namespace posenc::test::learned_families_test {
namespace {

constexpr std::string_view kMpt = R"({"model_type": "mpt", "d_model": 64, "n_heads": 4, "n_layers": 1,
  "max_seq_len": 128, "attn_config": {"alibi": true, "alibi_bias_max": 16, "softmax_scale": 0.5, "prefix_lm": true,
  "qk_ln": true}})";
constexpr std::string_view kGpt2 = R"({"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 3,
  "n_positions": 128, "scale_attn_weights": true, "scale_attn_by_inverse_layer_idx": true})";
constexpr std::string_view kGptNeo = R"({"model_type": "gpt_neo", "hidden_size": 64, "num_heads": 4, "num_layers": 4,
  "max_position_embeddings": 128, "attention_types": [[["global", "local"], 1], [["local"], 2]], "window_size": 32})";

template <typename Scheme>
Scheme input_of(const Plan& plan) {
  const auto& input = plan.stacks.at(0).input;
  const Scheme* scheme = input.size() == 1 ? std::get_if<Scheme>(&input[0]) : nullptr;
  if (scheme != nullptr) return *scheme;
  ADD_FAILURE() << "another input";
  return {};
}

TEST(LearnedFamilies, bloom_has_alibi_and_needs_no_length) {
  const Plan plan =
      plan_of(R"({"model_type": "bloom", "n_embed": 64, "n_layer": 1, "n_head": 4, "offset_alibi": 100})");
  EXPECT_EQ(layer_of(plan, 0).score.at(0), ScoreTerm(Alibi{.heads = 4, .form = AlibiForm::column}));
  EXPECT_EQ(plan.trained_length, std::nullopt);
  EXPECT_EQ(codes(plan), std::vector<std::string>{"misleading-key"});
}

TEST(LearnedFamilies, mpt_reads_its_attention_dictionary) {
  const Plan plan = plan_of(kMpt);
  const LayerPlan layer = layer_of(plan, 0);
  EXPECT_EQ(layer.score.at(0), ScoreTerm(Alibi{.heads = 4, .max_bias = 16}));
  EXPECT_EQ(layer.softmax_scale, 0.5);
  EXPECT_EQ(layer.mask.kind, MaskKind::prefix);
  ASSERT_TRUE(layer.qk_norm);
  EXPECT_EQ(layer.qk_norm->over, QkNorm::Over::all_heads);
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0/score/0/max_bias"), "/attn_config/alibi_bias_max");
}

// learned_pos_emb is true by default and means nothing beside ALiBi.
TEST(LearnedFamilies, mpt_s_heads_divide_its_width_whatever_head_dim_says) {
  const Plan plan = plan_of(with(kMpt, R"("n_heads")", R"("head_dim": 12, "n_heads")"));
  EXPECT_EQ(layer_of(plan, 0).head_dim, 16);
  EXPECT_EQ(plan.ignored_keys, std::vector<std::string>{"/head_dim"});
}

TEST(LearnedFamilies, mpt_without_alibi_has_a_table) {
  const Plan plan = plan_of(with(kMpt, R"("alibi": true)", R"("alibi": false)"));
  EXPECT_EQ(input_of<LearnedInput>(plan).positions, 128);
  EXPECT_TRUE(layer_of(plan, 0).score.empty());
  const Plan none = plan_of(with(with(kMpt, R"("alibi": true)", R"("alibi": false)"), R"("d_model")",
                                 R"("learned_pos_emb": false, "d_model")"));
  EXPECT_TRUE(none.stacks.at(0).input.empty());
  const Plan misled = plan_of(with(kMpt, R"("d_model")", R"("learned_pos_emb": true, "d_model")"));
  EXPECT_EQ(codes(misled), std::vector<std::string>{"misleading-key"});
}

// A file that llm-foundry's own code reads.
std::string of_foundry(std::string_view old, std::string_view other) {
  return with(with(kMpt, old, other), R"("d_model")", R"("auto_map": {}, "d_model")");
}

// llm-foundry's defaults of rope_impl and its dictionaries are the plain rotation.
TEST(LearnedFamilies, mpt_may_rotate) {
  const std::string text = of_foundry(R"("alibi": true, "alibi_bias_max": 16)", R"("rope": true, "rope_theta": 5000)");
  const Plan plan = plan_of(text);
  EXPECT_TRUE(plan.known);
  EXPECT_TRUE(plan.stacks.at(0).input.empty());
  EXPECT_TRUE(layer_of(plan, 0).score.empty());
  EXPECT_EQ(rope_of(plan), (Rope{.pairing = Pairing::half, .head_dim = 16, .dim = 16, .base = 5000}));
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0/rotate/0/base"), "/attn_config/rope_theta");
  const Plan both = plan_of(with(text, R"("rope": true)", R"("rope": true, "alibi": true)"));
  EXPECT_EQ(layer_of(both, 0).score.size(), 1U);
  const Plan hf = plan_of(
      with(text, R"("rope": true)", R"("rope": true, "rope_impl": "hf", "rope_hf_config": {"type": "no_scaling"})"));
  EXPECT_EQ(rope_of(hf), rope_of(plan));
}

TEST(LearnedFamilies, mpt_rotations_that_are_not_read_are_undecided) {
  const std::string text = of_foundry(R"("alibi": true)", R"("rope": true)");
  for (std::string_view variant :
       {R"("rope": true, "rope_impl": "hf", "rope_hf_config": {"type": "linear", "factor": 2})",
        R"("rope": true, "rope_dail_config": {"type": "xpos", "xpos_scale_base": 512})",
        R"("rope": true, "sliding_window_size": 32)"}) {
    const Plan plan = plan_of(with(text, R"("rope": true)", variant));
    EXPECT_FALSE(plan.known) << variant;
    EXPECT_EQ(codes(plan), (std::vector<std::string>{"lost-by-class", "undecided"})) << variant;
  }
  EXPECT_TRUE(plan_of(with(text, R"("rope": true)", R"("rope": true, "sliding_window_size": -1)")).known);
  EXPECT_EQ(error_of(with(text, R"("rope": true)", R"("rope": true, "rope_impl": "other")")).path,
            "/attn_config/rope_impl");
}

TEST(LearnedFamilies, mpt_has_as_many_key_heads_as_the_kind_of_attention_says) {
  const auto of_kind = [](std::string_view keys) {
    return of_foundry(R"("alibi": true)", R"("alibi": true, "attn_type": )" + std::string(keys));
  };
  EXPECT_EQ(layer_of(plan_of(kMpt), 0).kv_heads, 4);
  EXPECT_EQ(layer_of(plan_of(of_kind(R"("multihead_attention", "kv_n_heads": 2)")), 0).kv_heads, 4);
  EXPECT_EQ(layer_of(plan_of(of_kind(R"("multiquery_attention")")), 0).kv_heads, 1);
  EXPECT_EQ(layer_of(plan_of(of_kind(R"("grouped_query_attention", "kv_n_heads": 2)")), 0).kv_heads, 2);
  EXPECT_FALSE(plan_of(of_kind(R"("grouped_query_attention")")).stacks.at(0).known);
  EXPECT_EQ(error_of(of_kind(R"("linear")")).path, "/attn_config/attn_type");
}

TEST(LearnedFamilies, gpt2_divides_the_scale_by_the_layer) {
  const Plan plan = plan_of(kGpt2);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(layer_of(plan, i).softmax_scale, 0.25 / static_cast<double>(i + 1));
  }
  const Plan bare = plan_of(with(with(kGpt2, R"("scale_attn_weights": true)", R"("scale_attn_weights": false)"),
                                 R"("scale_attn_by_inverse_layer_idx": true)", R"("n_ctx": 128)"));
  EXPECT_EQ(layer_of(bare, 2).softmax_scale, 1);
  EXPECT_TRUE(bare.warnings.empty());
  EXPECT_EQ(codes(plan_of(with(kGpt2, R"("n_embd")", R"("n_ctx": 64, "n_embd")"))),
            std::vector<std::string>{"misleading-key"});
}

TEST(LearnedFamilies, gpt_bigcode_shares_one_key_head) {
  const std::string text = with(kGpt2, "gpt2", "gpt_bigcode");
  EXPECT_EQ(layer_of(plan_of(text), 0).kv_heads, 1);
  EXPECT_EQ(layer_of(plan_of(with(text, R"("n_embd")", R"("multi_query": false, "n_embd")")), 0).kv_heads, 4);
}

TEST(LearnedFamilies, gpt_neo_expands_its_groups) {
  const Plan plan = plan_of(kGptNeo);
  EXPECT_EQ(layer_of(plan, 0).mask.window, std::nullopt);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(layer_of(plan, i).mask.window, (Window{31, 0})) << i;
  EXPECT_EQ(layer_of(plan, 0).softmax_scale, 1);
  const FileError error = error_of(with(kGptNeo, R"(["local"], 2)", R"(["local"], 3)"));
  EXPECT_EQ(error.kind, ErrorKind::length_mismatch);
  EXPECT_EQ(error.path, "/attention_types");
  EXPECT_EQ(error_of(with(kGptNeo, R"(["local"], 2)", R"(["far"], 2)")).kind, ErrorKind::out_of_range);
  EXPECT_EQ(error_of(with(kGptNeo, R"([["local"], 2])", R"([["local"]])")).kind, ErrorKind::length_mismatch);
}

// The class makes the list of attention_types, and then takes that of the file, which is no field of it.
TEST(LearnedFamilies, gpt_neos_expanded_list_beats_its_groups) {
  const std::string text = with(kGptNeo, R"("attention_types": [[["global", "local"], 1], [["local"], 2]])",
                                R"("attention_layers": ["local", "local", "global", "local"])");
  EXPECT_EQ(layer_of(plan_of(text), 2).mask.window, std::nullopt);
  EXPECT_EQ(layer_of(plan_of(text), 0).mask.window, (Window{31, 0}));
  const std::string both = with(text, R"("window_size")", R"("attention_types": [[["local"], 4]], "window_size")");
  EXPECT_EQ(codes(plan_of(both)), std::vector<std::string>{"precedence"});
  EXPECT_EQ(layer_of(plan_of(both), 2).mask.window, std::nullopt);
}

TEST(LearnedFamilies, opt_counts_positions_and_has_two_rows_more) {
  const Plan plan = plan_of(R"({"model_type": "opt", "hidden_size": 64, "num_attention_heads": 4,
    "num_hidden_layers": 1, "max_position_embeddings": 128})");
  EXPECT_EQ(input_of<LearnedInput>(plan), (LearnedInput{.positions = 130, .offset = 2}));
  EXPECT_EQ(plan.trained_length, 128);
}

TEST(LearnedFamilies, xglm_scales_the_embedding_before_its_sines) {
  const Plan plan = plan_of(R"({"model_type": "xglm", "d_model": 64, "attention_heads": 4, "num_layers": 1,
    "max_position_embeddings": 128})");
  const SinusoidalInput sines = input_of<SinusoidalInput>(plan);
  EXPECT_EQ(sines.offset, 2);
  EXPECT_EQ(sines.embedding_multiplier, 8);
  EXPECT_EQ(sines.positions, std::nullopt);
}

TEST(LearnedFamilies, a_wrong_type_is_an_error_at_its_key) {
  EXPECT_EQ(error_of(with(kMpt, R"("alibi": true)", R"("alibi": 1)")).path, "/attn_config/alibi");
  EXPECT_EQ(error_of(with(kMpt, "16", "-8")).path, "/attn_config/alibi_bias_max");
  EXPECT_EQ(error_of(with(kGpt2, R"("n_positions": 128)", R"("n_positions": "128")")).path, "/n_positions");
}

}  // namespace
}  // namespace posenc::test::learned_families_test
