// One key beside the sizes, and what it changes: what the class of transformers 5.23.0 was seen to do when that one key
// was changed (python -m posenc.conformance.sweep --vary).
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plan/families/kin.h"
#include "plan/plan_summary.h"
#include "plan/read/plan_reading.h"

namespace posenc::test::one_key_test {
namespace {

constexpr std::string_view kDecoder = R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
  "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 20000, "head_dim": 64)";
constexpr std::string_view kCodec = R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
  "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 20000, "head_dim": 64, "sliding_window": 32)";
constexpr std::string_view kGpt = R"("n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 128)";
constexpr std::string_view kNeo = R"("hidden_size": 64, "num_heads": 4, "num_layers": 2,
  "max_position_embeddings": 4096, "attention_types": [[["global", "local"], 1]], "window_size": 32)";
constexpr std::string_view kT5 = R"("d_model": 64, "d_kv": 16, "num_heads": 4, "num_layers": 1,
  "num_decoder_layers": 1)";
constexpr std::string_view kSound = R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2)";
constexpr std::string_view kBert = R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
  "max_position_embeddings": 128)";

constexpr Kin kRows[] = {
    // is_causal: false
    {"internlm3", kDecoder, R"(, "is_causal": false)", "decoder: 0-1 4/2x64 half 64 @20000 s0.125 both"},
    {"mimi_decoder", kCodec, R"(, "is_causal": false)", "decoder: 0-1 4/2x64 half 64 @20000 s0.125 both w32,32"},
    {"imagegpt", kGpt, R"(, "is_causal": false)", "decoder: table 128+0; 0-1 4/4x16 s0.25 causal"},
    {"gpt_neo", kNeo, R"(, "is_causal": false)", "decoder: table 4096+0; 0 4/4x16 s1 causal; 1 4/4x16 s1 causal w31,0"},
    {"llama4_text", kDecoder,
     R"(, "is_causal": false, "no_rope_layers": [1, 0], "attention_chunk_size": 32, "use_qk_norm": false,
        "attn_temperature_tuning": false)",
     "decoder: 0 4/2x64 interleaved 64 @20000 s0.125 causal c32; 1 4/2x64 s0.125 both"},
    {"blt_global_transformer", kDecoder, R"(, "is_causal": false)",
     "decoder: 0-1 4/2x64 interleaved 64 @20000 s0.125 causal"},
    // Heads of keys times experts of a token, 2 where the file does not say.
    {"jetmoe", kDecoder, R"(, "num_experts_per_tok": 3)", "decoder: 0-1 6/2x64 half 64 @20000 s0.125 causal"},
    {"jetmoe", R"("hidden_size": 256, "num_attention_heads": 8, "num_key_value_heads": 2, "num_hidden_layers": 2,
     "max_position_embeddings": 4096, "rope_theta": 20000, "head_dim": 64)",
     "", "decoder: 0-1 4/2x64 half 64 @20000 s0.125 causal"},
    // Every fourth layer from the last rests where no list says more.
    {"muse_spark_text", kDecoder, R"(, "layer_types": ["full_attention", "full_attention"])",
     "decoder: 0 4/2x64 half 64 @500000 s0.684126 rms causal; 1 4/2x64 s0.684126 rms causal"},
    // A list's last layer slides where it says so.
    {"beam", kCodec, R"(, "layer_types": ["full_attention", "sliding_attention"])",
     "decoder: 0 4/2x64 s0.125 rms query-scale causal; 1 4/2x64 half 64 @10000 s0.125 rms causal w31,0"},
    // is_decoder
    {"tapas", kBert, R"(, "is_decoder": true)", "encoder: table 128+0; 0-1 4/4x16 s0.25 both"},
    // head_dim, num_key_value_heads
    {"audio-spectrogram-transformer", kSound, R"(, "head_dim": 32, "num_key_value_heads": 1)",
     "audio: table 1214+0; 0-1 4/4x32 s0.176777 both"},
    {"lasr_encoder", kSound, R"(, "head_dim": 32, "num_key_value_heads": 1)",
     "encoder: 0-1 4/1x32 half 32 @10000 s0.176777 both"},
    {"qwen2_5_omni_dit", kSound, R"(, "head_dim": 32, "num_key_value_heads": 1, "look_ahead_layers": [],
     "look_backward_layers": [], "block_size": 24)",
     "sound: 0-1 4/4x32 interleaved 32 @10000 s0.176777 both c24"},
    {"llama4_vision_model", kSound, R"(, "head_dim": 32)",
     "vision: table 1025+0; 0-1 4/4x16 interleaved 16 @10000 wh s0.25 both"},
};

class OneKey : public testing::TestWithParam<Kin> {};

TEST_P(OneKey, does_what_it_does_to_its_class) {
  const Plan plan = plan_of(config(GetParam()));
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(summary(plan), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Rows, OneKey, testing::ValuesIn(kRows));

// ---- T5's buckets are one-sided in a decoder's module, whatever is_causal says of its mask ----

class OneSidedBuckets : public testing::TestWithParam<std::string_view> {};

TEST_P(OneSidedBuckets, stay_so_where_a_decoder_looks_both_ways) {
  const Plan plan = plan_of(config(GetParam(), kT5, R"(, "is_causal": false)"));
  const LayerPlan& layer = plan.stacks.front().layers.front();
  EXPECT_EQ(plan.stacks.front().name, "decoder");
  EXPECT_EQ(layer.mask.kind, MaskKind::bidirectional);
  ASSERT_EQ(layer.score.size(), 1u);
  EXPECT_FALSE(std::get<T5Bias>(layer.score.front()).bidirectional);
}

INSTANTIATE_TEST_SUITE_P(Families, OneSidedBuckets,
                         testing::Values("t5", "mt5", "umt5", "switch_transformers", "pop2piano",
                                         "pix2struct_text_model"));

TEST(OneKey, lets_a_pix2struct_text_that_is_no_decoder_look_both_ways) {
  const Plan plan = plan_of(config("pix2struct_text_model", kT5, R"(, "is_decoder": false)"));
  EXPECT_EQ(plan.stacks.front().layers.front().mask.kind, MaskKind::bidirectional);
}

TEST(OneKey, reads_the_words_of_inkling) {
  const Plan plan = plan_of(config("inkling_text", kCodec, R"(, "layer_types": ["hybrid", "hybrid_sliding"])"));
  EXPECT_TRUE(plan.known);
  const std::vector<LayerPlan>& layers = plan.stacks.front().layers;
  EXPECT_FALSE(layers[0].mask.window);
  EXPECT_EQ(layers[1].mask.window, (Window{31, 0}));
}

// ---- what nobody can say leaves the plan open ----

class Undecided : public testing::TestWithParam<Kin> {};

TEST_P(Undecided, leaves_the_plan_open) { EXPECT_FALSE(plan_of(config(GetParam())).known); }

constexpr Kin kUndecided[] = {
    // Heads are cut anew, as many as fit.
    {"fun_asr_nano_encoder", kSound, R"(, "head_dim": 32)", ""},
    // Only its rotation asks for it.
    {"minimax_m3_vl_vision", kSound, R"(, "head_dim": 32)", ""},
    {"step3p5", kDecoder, R"(, "use_bidirectional_attention": true, "layer_types": ["full_attention",
      "full_attention"])",
     ""},
    // Its class knows "hybrid" and "hybrid_sliding".
    {"inkling_text", kCodec, R"(, "layer_types": ["hybrid", "sliding_attention"])", ""},
    {"inkling_text", kCodec, R"(, "layer_types": ["full_attention", "hybrid_sliding"])", ""},
    // Masks slide, and kernels do not.
    {"smollm3", kCodec, R"(, "layer_types": ["full_attention", "sliding_attention"])", ""},
    // Some classes find dictionaries of layer types under the old name, some do not.
    {"gemma3_text", kCodec, R"(, "rope_scaling": {"full_attention": {"rope_type": "linear", "factor": 3.0}})", ""},
    {"gemma4_text", kCodec, R"(, "rope_scaling": {"full_attention": {"rope_type": "linear", "factor": 3.0}})", ""},
    {"modernbert", kBert, R"(, "sliding_window": 1)", ""},
    // The class makes the list of its windows of other keys.
    {"rf_detr_dinov2", kSound, R"(, "num_windows": 4)", ""},
};

INSTANTIATE_TEST_SUITE_P(Rows, Undecided, testing::ValuesIn(kUndecided));

TEST(OneKey, leaves_deepseek_v4_s_compressed_layers_their_base) {
  const Plan plan = plan_of(config("deepseek_v4", R"("num_hidden_layers": 3, "compress_rope_theta": 70000)",
                                   R"(, "rope_parameters": {"rope_theta": 50.0})"));
  std::vector<double> bases;
  for (const LayerPlan& layer : plan.stacks.front().layers) {
    if (layer.compression) bases.push_back(std::get<Rope>(layer.rotate.front().scheme).base);
  }
  EXPECT_EQ(bases, std::vector<double>(bases.size(), 70000));
  EXPECT_FALSE(bases.empty());
}

// What transformers' classes share moves the length beside a dictionary into it.
TEST(OneKey, takes_the_length_beside_a_dictionary_for_all_layers) {
  constexpr std::string_view kBoth = R"(, "original_max_position_embeddings": 64,
    "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32})";
  const Plan plan = plan_of(config("qwen3", kDecoder, kBoth));
  EXPECT_EQ(std::get<YarnScaling>(rope_of(plan).scaling).original_max_position_embeddings, 64);
  constexpr std::string_view kBeside = R"(, "original_max_position_embeddings": 64, "rope_scaling": {"factor": 8.0,
    "rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0})";
  const Plan llama = plan_of(config("llama", kDecoder, kBeside));
  EXPECT_EQ(std::get<Llama3Scaling>(rope_of(llama).scaling).original_max_position_embeddings, 64);
}

// A dictionary that only the class has, some of whose entries follow from other keys.
TEST(OneKey, takes_the_rule_of_the_class_where_the_file_has_none) {
  EXPECT_EQ(std::get<YarnScaling>(rope_of(plan_of(R"({"model_type": "mistral4"})")).scaling).factor, 128);
  EXPECT_EQ(std::get<YarnScaling>(rope_of(plan_of(R"({"model_type": "ministral3"})")).scaling).factor, 16);
}

TEST(OneKey, scales_longcat_s_queries_by_ranks_that_only_the_class_says) {
  constexpr std::string_view kLayers = R"("num_layers": 1)";
  const Plan own = plan_of(config("longcat_flash", kLayers, ""));
  const Plan said = plan_of(config("longcat_flash", kLayers, R"(, "q_lora_rank": 1536, "hidden_size": 6144)"));
  EXPECT_EQ(own.stacks.front().layers.front().softmax_scale, said.stacks.front().layers.front().softmax_scale);
  EXPECT_DOUBLE_EQ(own.stacks.front().layers.front().softmax_scale, 2 / std::sqrt(192.0));
}

}  // namespace
}  // namespace posenc::test::one_key_test
