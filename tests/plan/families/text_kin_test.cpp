// More kin: text decoders, encoders and text halves, each by a small config of our own and the facts that follow from
// its class in transformers 5.23.0.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plan/families/family_configs.h"
#include "plan/families/kin.h"
#include "plan/plan_summary.h"
#include "plan/read/plan_reading.h"

namespace posenc::test::text_kin_test {
namespace {

constexpr std::string_view kDecoder = R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
  "num_hidden_layers": 4, "max_position_embeddings": 4096, "rope_theta": 20000, "head_dim": 64)";
// The class reads partial_rotary_factor of no default rotation.
constexpr std::string_view kLfm = R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
  "num_hidden_layers": 4, "max_position_embeddings": 4096, "head_dim": 64, "sliding_window": 32,
  "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 90000},
                      "sliding_attention": {"rope_type": "default", "rope_theta": 500, "partial_rotary_factor": 0.5}})";
constexpr std::string_view kByType = R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
  "num_hidden_layers": 4, "max_position_embeddings": 4096, "head_dim": 64, "sliding_window": 32,
  "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 90000},
                      "sliding_attention": {"rope_type": "default", "rope_theta": 500}},
  "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"])";
constexpr std::string_view kLatent = R"("hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2,
  "max_position_embeddings": 4096, "rope_theta": 20000, "qk_nope_head_dim": 48, "qk_rope_head_dim": 16,
  "v_head_dim": 32)";
constexpr std::string_view kIndexed = R"(, "index_n_heads": 2, "index_head_dim": 32, "index_topk": 8)";
constexpr std::string_view kEncoder = R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
  "max_position_embeddings": 128, "type_vocab_size": 3, "pad_token_id": 1)";
constexpr std::string_view kText = R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
  "max_position_embeddings": 77)";
constexpr std::string_view kPair = R"("d_model": 64, "encoder_layers": 2, "decoder_layers": 1,
  "encoder_attention_heads": 4, "decoder_attention_heads": 2, "max_position_embeddings": 128, "pad_token_id": 1)";

constexpr std::string_view kPlain = "decoder: 0-3 4/2x64 half 64 @20000 s0.125 causal";
constexpr std::string_view kThw = "decoder: 0-3 4/2x64 half 64 @20000 thw s0.125 causal";

constexpr Kin kDecoders[] = {
    {"deepseek_ocr2_text", kDecoder, "", kPlain},
    {"emu3_text_model", kDecoder, "", kPlain},
    {"granite4_vision_text", kDecoder, R"(, "attention_multiplier": 0.5)",
     "decoder: 0-3 4/2x64 half 64 @20000 s0.5 causal"},
    {"cosmos3_edge_text", kDecoder,
     R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 20000, "mrope_section": [12, 10, 10]})", kThw},
    {"ernie4_5_vl_moe_text", kDecoder,
     R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 20000, "mrope_section": [11, 11, 10]})",
     "decoder: 0-3 4/2x64 interleaved 64 @20000 thw s0.125 causal"},
    {"cohere_compass_text", kDecoder,
     R"(, "sliding_window": 32, "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention",
        "full_attention"], "rope_parameters": {"full_attention": null, "sliding_attention": {"rope_type": "default",
        "rope_theta": 20000, "mrope_section": [12, 10, 10]}})",
     "decoder: 0-2 4/2x64 half 64 @20000 thw s0.125 causal w31,0; 3 4/2x64 s0.125 causal"},
    {"cohere2_moe", kDecoder,
     R"(, "sliding_window": 32, "sliding_window_pattern": 2, "prefix_dense_sliding_window_pattern": 1,
        "mlp_layer_types": ["sparse", "dense", "sparse", "sparse"])",
     "decoder: 0 4/2x64 interleaved 64 @20000 s0.125 causal w31,0; 1 4/2x64 interleaved 64 @20000 s0.125 causal; "
     "2 4/2x64 interleaved 64 @20000 s0.125 causal w31,0; 3 4/2x64 s0.125 causal"},
    {"hrm_text", kDecoder, R"(, "prefix_lm": true, "num_layers_per_stack": 1)",
     "decoder: 0-3 4/4x64 half 64 @20000 s0.125 prefix"},
    {"hrm_text", kDecoder, R"(, "H_cycles": 3, "L_cycles": 1)", "decoder: 0-23 4/4x64 half 64 @20000 s0.125 prefix"},
    {"laguna", kByType, R"(, "num_attention_heads_per_layer": [4, 4, 4, 2])",
     "decoder: 0-2 4/2x64 half 64 @500 s0.125 rms causal w31,0; 3 2/2x64 half 64 @90000 s0.125 rms causal"},
    {"mimo_v2_flash", kByType, R"(, "v_head_dim": 32)",
     "decoder: 0-2 4/4x64:32 half 64 @500 s0.125 sinks causal w31,0; 3 4/2x64:32 half 64 @90000 s0.125 causal"},
    {"molmo2_text", kDecoder, R"(, "qk_norm_type": "qwen3")", "decoder: 0-3 4/2x64 half 64 @20000 s0.125 rms causal"},
    {"muse_glimmer_text", kDecoder,
     R"(, "sliding_window": 32, "qk_scale_factor": 4.0, "layer_rope_theta": [20000, 20000, 20000, 0], "layer_types":
        ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"])",
     "decoder: 0-2 4/2x64 half 64 @20000 s0.5 rms causal w31,0; 3 4/2x64 s0.5 rms causal"},
    {"lfm3", kLfm, R"(, "layer_types": ["conv", "sliding_attention", "conv", "full_attention"])",
     "decoder: 0 convolution; 1 4/2x64 half 64 @500 s0.125 rms causal w31,0; 2 convolution; "
     "3 4/2x64 half 64 @90000 s0.125 rms causal"},
    {"hunyuan_vl_text", kDecoder,
     R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 20000, "xdrope_section": [8, 8, 8, 8]})",
     "decoder: 0-3 4/2x64 half 64 @20000 twhimage s0.125 rms-after causal"},
    {"blt_patcher", kDecoder, R"(, "sliding_window": 32)",
     "decoder: 0-3 4/2x64 interleaved 64 @20000 s0.125 causal w31,0"},
    {"zaya", kDecoder,
     R"(, "sliding_window": 32, "layer_types": ["hybrid", "hybrid_sliding", "hybrid", "hybrid"], "rope_parameters": {
        "hybrid": {"rope_type": "default", "rope_theta": 90000, "partial_rotary_factor": 0.5},
        "hybrid_sliding": {"rope_type": "default", "rope_theta": 500}})",
     "decoder: 0 4/2x64 half 32 @90000 s0.125 rms causal; 1 4/2x64 half 64 @500 s0.125 rms causal w31,0; "
     "2-3 4/2x64 half 32 @90000 s0.125 rms causal"},
    {"axk1", kLatent, "", "decoder: 0-1 4/4x64:32 interleaved 48+16 @20000 s0.125 causal"},
    {"bailing_hybrid", kLatent, R"(, "layer_group_size": 2)",
     "decoder: 0 linear; 1 4/4x64:32 interleaved 48+16 @20000 s0.125 causal"},
    {"gemma4_unified_text", kByType, R"(, "global_head_dim": 128, "use_bidirectional_attention": null)",
     "decoder: 0-2 4/2x64 half 64 @500 s1 rms causal w31,0; 3 4/2x128 half 128 @90000 s1 rms causal"},
    // What transformers 5 saves in place of global_head_dim.
    {"gemma4_text", kByType,
     R"(, "per_layer_config": {"03": {"head_dim": 128, "num_key_value_heads": 1}, "1": {"sliding_window": 16}})",
     "decoder: 0 4/2x64 half 64 @500 s1 rms causal w31,0; 1 4/2x64 half 64 @500 s1 rms causal w15,0; "
     "2 4/2x64 half 64 @500 s1 rms causal w31,0; 3 4/1x128 half 128 @90000 s1 rms causal"},
    {"ctrl", R"("n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 128)", "",
     "decoder: sines+0 x8; 0-1 4/4x16 s0.25 causal"},
    {"pp_formulanet_text", kPair, "",
     "decoder: table 130+2 x8; 0 2/2x32 s0.176777 causal; 1 cross 2/2x32 s0.176777 both"},
    {"trocr", kPair, R"(, "hidden_size": 64)",
     "decoder: table 130+2; 0 2/2x32 s0.176777 causal; 1 cross 2/2x32 s0.176777 both"},
    {"trocr", kPair, R"(, "hidden_size": 64, "use_learned_position_embeddings": false)",
     "decoder: sines+2; 0 2/2x32 s0.176777 causal; 1 cross 2/2x32 s0.176777 both"},
    {"pegasus_x", kPair, "",
     "decoder: sines+0 x8; 0 2/2x32 s0.176777 causal; 1 cross 2/2x32 s0.176777 both | "
     "encoder: sines+0 x8; 0-1 4/4x16 s0.25 sparse"},
    {"pix2struct_text_model", R"("hidden_size": 64, "num_layers": 1, "num_heads": 4, "d_kv": 16)", "",
     "decoder: 0 4/4x16 t5 32/128 s1 causal; 1 cross 4/4x16 s1 both"},
};

constexpr std::string_view kBertLike = "encoder: table 128+0 types3; 0-1 4/4x16 s0.25 both";
constexpr std::string_view kClipLike = "text: table 77+0; 0-1 4/4x16 s0.25 causal";

constexpr Kin kEncoders[] = {
    {"align_text_model", kEncoder, "", kBertLike},
    {"flava_text_model", kEncoder, "", kBertLike},
    {"visual_bert", kEncoder, "", kBertLike},
    {"markuplm", kEncoder, "", "encoder: table 128+2 types3; 0-1 4/4x16 s0.25 both"},
    {"tapas", kEncoder, "", "encoder: table 128+0; 0-1 4/4x16 s0.25 both"},
    {"layoutlm", kEncoder, R"(, "max_2d_position_embeddings": 32)",
     "encoder: table 128+0 types3; another input; 0-1 4/4x16 s0.25 both"},
    {"mobilebert", kEncoder, R"(, "true_hidden_size": 32)", "encoder: table 128+0 types3; 0-1 4/4x8 s0.353553 both"},
    {"convbert", kEncoder, R"(, "head_ratio": 2)", "encoder: table 128+0 types3; 0-1 2/2x16 s0.25 both"},
    {"canine", kEncoder, R"(, "num_hash_buckets": 64)",
     "encoder: 0-1 4/4x16 s0.25 both | characters: table 64+0 types3; 0 4/4x16 s0.25 sparse | "
     "last_characters: 0 4/4x16 s0.25 both"},
    {"xlm", R"("emb_dim": 64, "n_heads": 4, "n_layers": 2, "max_position_embeddings": 128)", "",
     "encoder: table 128+0; 0-1 4/4x16 s0.25 both"},
    {"flaubert", R"("emb_dim": 64, "n_heads": 4, "n_layers": 2, "max_position_embeddings": 128)",
     R"(, "causal": true, "sinusoidal_embeddings": true)", "decoder: sines+0; 0-1 4/4x16 s0.25 causal"},
    {"ultrabert", kByType, "",
     "encoder: 0-2 4/2x64 half 64 @500 s0.125 both w32,32; 3 4/2x64 half 64 @90000 s0.125 both"},
    {"openai_privacy_filter", kDecoder, R"(, "sliding_window": 32, "rope_parameters": {"rope_type": "default",
     "rope_theta": 20000})",
     "encoder: 0-3 4/2x64 interleaved 64 @20000 s0.125 sinks both w32,32"},
    {"embedding_gemma2_text", kByType, R"(, "global_head_dim": 128, "num_global_key_value_heads": 1)",
     "encoder: 0-2 4/2x64 half 64 @500 s1 rms both w32,32; 3 4/1x128 half 128 @90000 s1 rms both"},
    {"t5gemma2_text", kByType, R"(, "query_pre_attn_scalar": 16)",
     "encoder: 0-2 4/2x64 half 64 @500 s0.25 rms both w15,16; 3 4/2x64 half 64 @90000 s0.25 rms both"},
    {"xclip_text_model", kText, "", kClipLike},
    {"groupvit_text_model", kText, "", kClipLike},
    {"aimv2_text_model", kText, "", kClipLike},
    {"blip_text_model", kText, R"(, "is_decoder": false)", "text: table 77+0; 0-1 4/4x16 s0.25 both"},
    {"tipsv2_text_model", kText, R"(, "scale_sqrt_depth": true)", "text: sines+0 x8; 0-1 4/4x16 s0.25 both"},
    {"videoprism_text_model", kText, "", "text: sines+0 x8; 0-1 4/4x16 s0.25 cap50 causal"},
    {"kosmos_2_text_model",
     R"("embed_dim": 64, "attention_heads": 4, "layers": 2, "max_position_embeddings": 77, "scale_embedding": false)",
     "", "text: sines+2; 0-1 4/4x16 s0.25 causal"},
    {"sam3_lite_text_text_model", R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 3,
     "max_position_embeddings": 77)",
     "", "text: table 77+0; 0 convolution; 1 4/4x16 s0.25 both; 2 convolution"},
};

class TextKin : public testing::TestWithParam<Kin> {};

TEST_P(TextKin, is_what_its_class_says) {
  const Plan plan = plan_of(config(GetParam()));
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(plan.model_type, GetParam().type);
  EXPECT_EQ(summary(plan), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Decoders, TextKin, testing::ValuesIn(kDecoders));
INSTANTIATE_TEST_SUITE_P(Encoders, TextKin, testing::ValuesIn(kEncoders));

// ---- indexers ----

TEST(TextKin, an_indexer_rotates_last_channels_in_hy_v4) {
  const Plan plan = plan_of(config({"hy_v4", kLatent, R"(, "index_n_heads": 2, "index_head_dim": 32, "index_topk": 8,
    "indexer_types": ["full", "shared"])",
                                    ""}));
  EXPECT_TRUE(plan.known);
  ASSERT_EQ(plan.stacks.front().layers.size(), 2U);
  const LayerPlan& first = plan.stacks.front().layers[0];
  ASSERT_EQ(first.rotate.size(), 2U);
  EXPECT_EQ(rope(first.rotate[1]).first_channel, 16);
  EXPECT_EQ(rope(first.rotate[1]).pairing, Pairing::half);
  EXPECT_TRUE(first.sinks);
  EXPECT_EQ(plan.stacks.front().layers[1].rotate.size(), 1U);
}

TEST(TextKin, an_indexer_may_rank_keys_of_several_tokens) {
  const Plan glm = plan_of(config({"glm5_next_text", R"("hidden_size": 256, "num_attention_heads": 4,
    "num_hidden_layers": 2, "max_position_embeddings": 4096, "qk_nope_head_dim": 64, "qk_rope_head_dim": 0,
    "v_head_dim": 32, "index_n_heads": 2, "index_head_dim": 32, "index_topk": 64, "index_kpool": 16, "indexer_types":
    ["full", "full"], "layer_types": ["linear_attention", "indexed_attention"])",
                                   "", ""}));
  EXPECT_TRUE(glm.known);
  EXPECT_EQ(summary(glm), "decoder: 0 linear; 1 4/4x64:32 s0.125 sparse");
  EXPECT_EQ(glm.stacks.front().layers[1].mask.detail,
            "causal, the 4 blocks of 16 keys that the indexer ranks highest, and the keys behind the last whole block");
  const Plan qwen = plan_of(config({"qwen4_exp_text", kDecoder, R"(, "indexer_n_heads": 2, "indexer_head_dim": 64,
    "indexer_budget": 64, "indexer_compress_ratio": 4, "layer_types": ["linear_attention", "linear_attention",
    "linear_attention", "indexed_attention"], "rope_parameters": {"rope_type": "default", "rope_theta": 20000,
    "mrope_section": [12, 10, 10]})",
                                    ""}));
  EXPECT_TRUE(qwen.known);
  EXPECT_EQ(summary(qwen), "decoder: 0-2 linear; 3 4/2x64 half 64 @20000 thw half 64 @20000 thw s0.125 rms sparse");
}

TEST(TextKin, dots3_note_has_an_indexer_in_indexed_layers_and_sizes_of_its_own_in_sliding_ones) {
  const Plan plan = plan_of(config({"dots3_note_text", kLatent, std::string(kIndexed) + R"(, "sliding_window": 32,
    "layer_types": ["indexed_attention", "sliding_attention"], "per_layer_config": {"1": {"num_attention_heads": 2,
    "qk_nope_head_dim": 16, "qk_rope_head_dim": 48}}, "rope_parameters": {"indexed_attention": {"rope_type": "default",
    "rope_theta": 90000}, "sliding_attention": {"rope_type": "default", "rope_theta": 500}})",
                                    ""}));
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(summary(plan),
            "decoder: 0 4/4x64:32 interleaved 48+16 @90000 interleaved 16 @90000 s0.125 sparse; "
            "1 2/2x64:32 interleaved 16+48 @500 s0.125 causal w31,0");
}

// As the weights were released: the class makes types, sizes and bases of sliding layers of keys of its own.
TEST(TextKin, dots3_note_as_released_is_not_known) {
  constexpr std::string_view kTypes = R"(, "sliding_window": 32, "layer_types": ["full_attention", "sliding_attention"])";
  for (const std::string_view more : {R"(, "swa_head_dim": 48)", R"(, "use_dsa": true, "per_layer_config": {})"}) {
    const Plan plan = plan_of(config({"dots3_note_text", kLatent, std::string(kIndexed) + std::string(kTypes) +
                                                                      std::string(more), ""}));
    EXPECT_FALSE(plan.known) << more;
    EXPECT_EQ(plan.stacks[0].unknown.size(), 1U) << more;
  }
}

// ---- what is not known ----

TEST(TextKin, an_indexer_and_a_merged_mask_are_causal) {
  for (const std::string_view type : {"glm_moe_dsa", "t5gemma2_decoder"}) {
    const auto plan = [&](std::string_view causal) {
      return plan_of(config({type, type == "glm_moe_dsa" ? kLatent : kDecoder,
                             std::string(kIndexed) + R"(, "sliding_window": 32, "is_causal": )" + std::string(causal),
                             ""}));
    };
    EXPECT_TRUE(plan("true").known) << type;
    EXPECT_FALSE(plan("false").known) << type;
  }
}

TEST(TextKin, what_a_plan_cannot_hold_is_named) {
  for (const Kin& kin :
       {Kin{"molmo2_text", kDecoder, R"(, "qk_norm_type": "olmo")", ""}, Kin{"neomme", kByType, "", ""},
        Kin{"bros", kEncoder, "", ""}, Kin{"lilt", kEncoder, "", ""}, Kin{"muse_glimmer_assistant", kDecoder, "", ""},
        Kin{"cohere2_moe", kDecoder, R"(, "first_k_dense_replace": 1)", ""}}) {
    const Plan plan = plan_of(config(kin));
    EXPECT_FALSE(plan.known) << kin.type;
    ASSERT_EQ(plan.stacks.size(), 1U) << kin.type;
    EXPECT_EQ(plan.stacks[0].unknown.size(), 1U) << kin.type;
  }
}

TEST(TextKin, a_pattern_of_dense_layers_counts_where_there_are_some) {
  const auto of = [](const std::string& type) {
    return config({"cohere2_moe", kDecoder,
                   R"(, "prefix_dense_sliding_window_pattern": 0, "mlp_layer_types": [")" + type +
                       R"(", "sparse", "sparse", "sparse"])", ""});
  };
  EXPECT_TRUE(plan_of(of("sparse")).known);
  EXPECT_EQ(error_of(of("dense")).path, "/prefix_dense_sliding_window_pattern");
}

TEST(TextKin, norms_of_neomme_have_no_weights) {
  const Plan plan = plan_of(config({"neomme", kByType, R"(, "per_layer_config": {})", ""}));
  ASSERT_TRUE(plan.known);
  for (const LayerPlan& layer : plan.stacks[0].layers) {
    ASSERT_TRUE(layer.qk_norm);
    EXPECT_FALSE(layer.qk_norm->weighted);
  }
}

TEST(TextKin, entries_of_single_layers_are_checked) {
  const auto with = [](std::string_view entries) {
    return config({"gemma4_text", kByType, std::string(R"(, "per_layer_config": )") + std::string(entries), ""});
  };
  EXPECT_EQ(error_of(with(R"({"4": {}})")).path, "/per_layer_config/4");
  EXPECT_EQ(error_of(with(R"({"one": {}})")).kind, ErrorKind::out_of_range);
  EXPECT_EQ(error_of(with(R"({"1": 2})")).kind, ErrorKind::type);
  EXPECT_EQ(error_of(with("[]")).path, "/per_layer_config");
  EXPECT_EQ(error_of(with(R"({"1": {"num_key_value_heads": 3}})")).kind, ErrorKind::not_divisible);
}

TEST(TextKin, h_and_w_must_have_as_many_pairs_where_they_take_turns) {
  EXPECT_EQ(error_of(config({"ernie4_5_vl_moe_text", kDecoder,
                             R"(, "rope_parameters": {"rope_theta": 20000, "mrope_section": [12, 10, 10]})", ""}))
                .path,
            "/rope_parameters/mrope_section");
}

// ---- several stacks ----

TEST(TextKin, t5gemma_has_two_stacks_of_gemma_2) {
  const std::string half = R"({"hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
    "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 20000, "head_dim": 64, "sliding_window": 32,
    "query_pre_attn_scalar": 16, "attn_logit_softcapping": 50.0})";
  const Plan plan = plan_of(R"({"model_type": "t5gemma", "encoder": )" + half + R"(, "decoder": )" + half + "}");
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(summary(plan),
            "decoder: 0 4/2x64 half 64 @20000 s0.25 cap50 causal w31,0; 1 cross 4/2x64 s0.25 cap50 both; "
            "2 4/2x64 half 64 @20000 s0.25 cap50 causal; 3 cross 4/2x64 s0.25 cap50 both | "
            "encoder: 0 4/2x64 half 64 @20000 s0.25 cap50 both w32,32; 1 4/2x64 half 64 @20000 s0.25 cap50 both");
}

TEST(TextKin, blt_has_stacks_of_bytes_and_of_patches) {
  const auto part = [](std::string_view more) { return "{" + std::string(kDecoder) + std::string(more) + "}"; };
  const Plan plan = plan_of(R"({"model_type": "blt", "local_attention_window_len": 16, "decoder_config": )" +
                            part(R"(, "cross_attn_all_layers": false, "sliding_window": 9)") +
                            R"(, "encoder_config": )" + part(R"(, "sliding_window": 8)") + R"(, "global_config": )" +
                            part("") + R"(, "patcher_config": )" + part(R"(, "sliding_window": 32)") + "}");
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(summary(plan),
            "decoder: 0 4/2x64 interleaved 64 @20000 s0.125 causal w15,0; 1 cross 4/2x64 s0.125 sparse; "
            "2-4 4/2x64 interleaved 64 @20000 s0.125 causal w15,0 | "
            "encoder: 0-3 4/2x64 interleaved 64 @20000 s0.125 causal w15,0; 4 cross 4/2x64 s0.125 sparse | "
            "global: 0-3 4/2x64 interleaved 64 @20000 s0.125 causal | "
            "patcher: 0-3 4/2x64 interleaved 64 @20000 s0.125 causal w31,0");
  // By itself its mask is the call's, whatever its sliding_window.
  for (const std::string_view window : {"", R"(, "sliding_window": 8)"}) {
    const Plan alone = plan_of(config({"blt_local_encoder", kDecoder, window, ""}));
    EXPECT_TRUE(alone.known);
    EXPECT_EQ(summary(alone), "decoder: 0-3 4/2x64 interleaved 64 @20000 s0.125 sparse; 4 cross 4/2x64 s0.125 sparse");
  }
}

TEST(TextKin, keys_of_two_stacks_share_a_softmax) {
  const Plan plan = plan_of(config({"t5gemma2_decoder", kByType, "", ""}));
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(summary(plan),
            "decoder: 0-2 4/2x64 half 64 @500 s0.0625 rms sparse w31,0; 3 4/2x64 half 64 @90000 s0.0625 rms sparse");
}

// A kind of layers whose rope_parameters are null does not rotate, and scales its queries by their positions.
TEST(TextKin, beam_scales_queries_where_it_does_not_rotate) {
  const Plan plan = plan_of(R"({"model_type": "beam", "hidden_size": 256, "num_attention_heads": 4,
    "num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 4096, "head_dim": 64,
    "sliding_window": 32, "layer_types": ["sliding_attention", "full_attention"],
    "rope_parameters": {"full_attention": null, "sliding_attention": {"rope_type": "default", "rope_theta": 500}}})");
  EXPECT_TRUE(plan.known);
  const std::vector<LayerPlan>& layers = plan.stacks.at(0).layers;
  EXPECT_FALSE(layers.at(0).rotate.empty());
  EXPECT_TRUE(std::holds_alternative<std::monostate>(layers.at(0).query_scale));
  EXPECT_TRUE(layers.at(1).rotate.empty());
  EXPECT_TRUE(std::holds_alternative<BeamTemperature>(layers.at(1).query_scale));
}

TEST(TextKin, colqwen_says_which_way_it_sees) {
  const auto with = [](std::string_view word) {
    return R"({"model_type": "colqwen3_5", "retrieval_attention_contract": ")" + std::string(word) +
           R"(", "text_config": )" + std::string(family_config("qwen3_5")) + "}";
  };
  const auto mask_of = [&](std::string_view word) { return plan_of(with(word)).stacks.at(0).layers.at(1).mask.kind; };
  EXPECT_EQ(mask_of("causal"), MaskKind::causal);
  EXPECT_EQ(mask_of("bidirectional"), MaskKind::bidirectional);
  EXPECT_EQ(error_of(with("both")).path, "/retrieval_attention_contract");
}

TEST(TextKin, a_page_s_boxes_stand_side_by_side) {
  const Plan plan = plan_of(config({"layoutlmv3", kEncoder, R"(, "max_2d_position_embeddings": 32,
    "coordinate_size": 12, "shape_size": 8)",
                                    ""}));
  ASSERT_EQ(plan.stacks.front().input.size(), 3U);
  const AxialInput& boxes = std::get<AxialInput>(plan.stacks.front().input[1]);
  EXPECT_EQ(boxes.combine, AxialCombine::concatenate);
  EXPECT_EQ(boxes.dims, (std::vector<std::int64_t>{12, 12, 12, 12, 8, 8}));
}

}  // namespace
}  // namespace posenc::test::text_kin_test
