// One key beside the sizes, and what it changes: what the class of transformers 5.23.0 was seen to do when that one key
// was changed (python -m posenc.conformance.sweep --vary).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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

// Gemma 4's and Step 3.7's second of two layers is of the type whose heads per_layer_config may have.
constexpr std::string_view kGemma4 = R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
  "num_hidden_layers": 2, "max_position_embeddings": 4096, "head_dim": 64, "sliding_window": 32,
  "layer_types": ["sliding_attention", "full_attention"])";
constexpr std::string_view kStep = R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
  "num_hidden_layers": 2, "max_position_embeddings": 4096, "head_dim": 64, "sliding_window": 32, "rope_theta": 20000,
  "layer_types": ["full_attention", "sliding_attention"], "num_sliding_attention_heads": 8)";

constexpr Kin kRows[] = {
    // A class that fills in per_layer_config where a file lacks it reads no other key of those layers where it is
    // there.
    {"gemma4_text", kGemma4, "",
     "decoder: 0 4/2x64 half 64 @10000 s1 rms causal w31,0; 1 4/2x512 half 512 @1e+06 s1 rms causal"},
    {"gemma4_text", kGemma4, R"(, "per_layer_config": {})",
     "decoder: 0 4/2x64 half 64 @10000 s1 rms causal w31,0; 1 4/2x64 half 64 @1e+06 s1 rms causal"},
    {"gemma4_text", kGemma4, R"(, "per_layer_config": null, "global_head_dim": 128)",
     "decoder: 0 4/2x64 half 64 @10000 s1 rms causal w31,0; 1 4/2x64 half 64 @1e+06 s1 rms causal"},
    {"gemma4_text", kGemma4,
     R"(, "per_layer_config": {"1": {"head_dim": 128}}, "attention_k_eq_v": true, "num_global_key_value_heads": 1)",
     "decoder: 0 4/2x64 half 64 @10000 s1 rms causal w31,0; 1 4/2x128 half 128 @1e+06 s1 rms causal"},
    {"embedding_gemma2_text", kGemma4, R"(, "per_layer_config": {})",
     "encoder: 0 4/2x64 half 64 @10000 s1 rms both w32,32; 1 4/2x64 half 64 @1e+06 s1 rms both"},
    {"step3p7", kStep, "",
     "decoder: 0 4/2x64 half 64 @20000 s0.125 rms causal; 1 8/2x64 half 64 @20000 s0.125 rms causal w31,0"},
    {"step3p7", kStep, R"(, "per_layer_config": {})",
     "decoder: 0 4/2x64 half 64 @20000 s0.125 rms causal; 1 4/2x64 half 64 @20000 s0.125 rms causal w31,0"},
    // Windows of 0 in files none of whose layers slide, and where both sides are seen the token itself is left.
    {"dots1", kDecoder, R"(, "sliding_window": 0, "max_window_layers": 2)",
     "decoder: 0-1 4/2x64 half 64 @20000 s0.125 rms causal"},
    {"step3p5", kDecoder, R"(, "sliding_window": 0, "layer_types": ["full_attention", "full_attention"])",
     "decoder: 0-1 4/2x64 half 64 @20000 s0.125 rms causal"},
    {"exaone4", kDecoder, R"(, "sliding_window": 0, "layer_types": ["full_attention", "full_attention"])",
     "decoder: 0-1 4/2x64 s0.125 rms causal"},
    {"mistral", kDecoder, R"(, "sliding_window": 0, "is_causal": false)",
     "decoder: 0-1 4/2x64 half 64 @20000 s0.125 both w0,0"},
    {"starcoder2", kDecoder, R"(, "sliding_window": 9, "is_causal": false)",
     "decoder: 0-1 4/2x64 half 64 @20000 s0.125 both w9,9"},
    // Half of the window and one token to each side: its mask counts the last one in, as Gemma 3's does not.
    {"gemma4_text", kGemma4, R"(, "per_layer_config": {}, "use_bidirectional_attention": "all")",
     "decoder: 0 4/2x64 half 64 @10000 s1 rms both w17,17; 1 4/2x64 half 64 @1e+06 s1 rms both"},
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
    // A causal window of 0 hides every key from its class, and is none to others.
    {"mistral", kDecoder, R"(, "sliding_window": 0)", ""},
    {"gemma3_text", kDecoder, R"(, "sliding_window": 0, "layer_types": ["sliding_attention", "full_attention"])", ""},
    // PhiMoE's factors by length stand in no other rule.
    {"phimoe", kDecoder, R"(, "rope_scaling": {"type": "linear", "factor": 2.0, "short_mscale": 1.5,
      "long_mscale": 2.0})",
     ""},
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

// The same length is that of the scale of queries, which is read in the dictionary after it was moved there.
TEST(OneKey, has_one_length_for_the_rule_and_for_the_scale_of_queries) {
  const auto lengths = [](std::string_view own) {
    const Plan plan = plan_of(config("ministral3", kDecoder, own));
    const Rope rope = rope_of(plan);
    const auto* yarn = std::get_if<YarnScaling>(&rope.scaling);
    const QueryScale& scale = plan.stacks.front().layers.front().query_scale;
    return std::pair(yarn == nullptr ? 0 : yarn->original_max_position_embeddings,
                     std::get<MinistralTemperature>(scale).original_max_position_embeddings);
  };
  using Lengths = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(lengths(R"(, "original_max_position_embeddings": 64, "rope_parameters": {"rope_type": "yarn", "factor": 4.0,
    "rope_theta": 1e4, "original_max_position_embeddings": 32, "llama_4_scaling_beta": 0.1})"),
            Lengths(64, 64));
  EXPECT_EQ(lengths(R"(, "rope_parameters": {"rope_type": "yarn", "factor": 4.0, "rope_theta": 1e4,
    "llama_4_scaling_beta": 0.1})"),
            Lengths(4096, 4096));
  // Nothing is moved for a rule that knows no original length.
  EXPECT_EQ(lengths(R"(, "original_max_position_embeddings": 64, "rope_parameters": {"rope_type": "default",
    "rope_theta": 1e4, "original_max_position_embeddings": 32, "llama_4_scaling_beta": 0.1})"),
            Lengths(0, 32));
}

// A length that the class has by default is moved over that of the dictionary, like one of the file.
TEST(OneKey, takes_the_length_of_the_class_over_that_of_the_dictionary) {
  const Plan plan = plan_of(config("phi3", kDecoder, R"(, "rope_scaling": {"type": "yarn", "factor": 4.0,
    "original_max_position_embeddings": 64, "rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0})"));
  EXPECT_EQ(std::get<Llama3Scaling>(rope_of(plan).scaling).original_max_position_embeddings, 4096);
}

// Shared code moves the part beside dictionaries by layer type into each; this rule asks for it, whatever the class.
TEST(OneKey, takes_the_part_beside_a_proportional_rule) {
  const Plan plan = plan_of(config("gemma4_text", kGemma4, R"(, "partial_rotary_factor": 0.5, "rope_parameters": {
    "full_attention": {"rope_type": "proportional", "rope_theta": 1e5}, "sliding_attention": {"rope_theta": 1e4}})"));
  EXPECT_EQ(std::get<ProportionalScaling>(rope_of(plan, 1).scaling).partial_rotary_factor, 0.5);
}

// LongRoPE's attention factors by length are of PhiMoE's class alone; one that is read needs the other beside it.
TEST(OneKey, reads_mscales_where_a_class_does) {
  const auto rule = [](std::string_view type, std::string_view mscales) {
    std::string own = R"(, "rope_scaling": {"type": "longrope", "original_max_position_embeddings": 1024,
      "short_factor": [1, 1, 1, 1], "long_factor": [4, 4, 4, 4])";
    own.append(mscales).append("}");
    constexpr std::string_view kSmall = R"("hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2,
      "num_hidden_layers": 1, "max_position_embeddings": 4096, "head_dim": 8)";
    return std::get<LongRopeScaling>(rope_of(plan_of(config(type, kSmall, own))).scaling);
  };
  constexpr std::string_view kBoth = R"(, "short_mscale": 1.5, "long_mscale": 2.0)";
  EXPECT_EQ(rule("phimoe", kBoth).short_mscale, 1.5);
  for (const std::string_view type : {"llama", "smollm3", "phi3", "qwen3"}) {
    EXPECT_FALSE(rule(type, kBoth).short_mscale) << type;
    EXPECT_FALSE(rule(type, R"(, "long_mscale": 2.0)").long_mscale) << type;
  }
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
