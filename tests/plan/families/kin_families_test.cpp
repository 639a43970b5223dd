// Kin of the families of the reference data, each by a small config of our own and the facts that follow from its class
// in transformers 5.23.0. The facts were written down before the reader saw the config.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "plan/families/kin.h"
#include "plan/plan_summary.h"
#include "plan/read/plan_reading.h"

namespace posenc::test::kin_families_test {
namespace {

constexpr std::string_view kDecoder = R"("hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
  "num_hidden_layers": 4, "max_position_embeddings": 4096, "rope_theta": 20000)";
constexpr std::string_view kLatent = R"("hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2,
  "max_position_embeddings": 4096, "rope_theta": 20000, "qk_nope_head_dim": 48, "qk_rope_head_dim": 16,
  "v_head_dim": 32)";
constexpr std::string_view kEncoder = R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
  "max_position_embeddings": 128, "type_vocab_size": 3, "pad_token_id": 1)";
constexpr std::string_view kPair = R"("d_model": 64, "encoder_layers": 2, "decoder_layers": 1,
  "encoder_attention_heads": 4, "decoder_attention_heads": 2, "max_position_embeddings": 128, "pad_token_id": 1)";
constexpr std::string_view kText = R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
  "max_position_embeddings": 77)";
constexpr std::string_view kTower = R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
  "image_size": 32, "patch_size": 8)";

constexpr std::string_view kPlain = "decoder: 0-3 4/2x64 half 64 @20000 s0.125 causal";
constexpr std::string_view kNormed = "decoder: 0-3 4/2x64 half 64 @20000 s0.125 rms causal";
constexpr std::string_view kNeighbours = "decoder: 0-3 4/2x64 interleaved 64 @20000 s0.125 causal";

constexpr Kin kDecoders[] = {
    {"apertus", kDecoder, R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 20000})", kNormed},
    {"arcee", kDecoder, "", kPlain},
    {"aria_text", kDecoder, "", kPlain},
    {"bitnet", kDecoder, "", kPlain},
    {"diffllama", kDecoder, R"(, "head_dim": 64)", kPlain},
    {"ernie4_5", kDecoder, R"(, "head_dim": 64)", kNeighbours},
    {"ernie4_5_moe", kDecoder, "", kNeighbours},
    {"flex_olmo", kDecoder, "", "decoder: 0-3 4/2x64 half 64 @20000 s0.125 rms-all causal"},
    {"granitemoeshared", kDecoder, R"(, "attention_multiplier": 0.5)",
     "decoder: 0-3 4/2x64 half 64 @20000 s0.5 causal"},
    {"helium", kDecoder, R"(, "head_dim": 64)", kNeighbours},
    {"hunyuan_v1_dense", kDecoder, R"(, "rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0})",
     "decoder: 0-3 4/2x64 half 64 @20000 ntk1000 s0.125 rms-after causal"},
    {"hunyuan_v1_moe", kDecoder, "", "decoder: 0-3 4/2x64 half 64 @20000 s0.125 rms-after causal"},
    {"hy_v3", kDecoder, R"(, "head_dim": 64)", kNormed},
    {"hyperclovax", kDecoder, R"(, "attention_multiplier": 0.25)", "decoder: 0-3 4/2x64 half 64 @20000 s0.25 causal"},
    {"hyperclovax", kDecoder, "", kPlain},
    {"iquestcoder", kDecoder, R"(, "head_dim": 64)", kPlain},
    {"jais2", kDecoder, R"(, "head_dim": 64)", kPlain},
    {"jetmoe", kDecoder, R"(, "kv_channels": 16)", "decoder: 0-3 4/2x16 half 16 @20000 s0.25 causal"},
    {"seed_oss", kDecoder, R"(, "head_dim": 16)", "decoder: 0-3 4/2x16 half 16 @20000 s0.25 causal"},
    {"solar_open", kDecoder, R"(, "head_dim": 64)", kPlain},
    {"starcoder2", kDecoder, R"(, "sliding_window": 32)", "decoder: 0-3 4/2x64 half 64 @20000 s0.125 causal w31,0"},
    {"gpt_neox_japanese", kDecoder, R"(, "rotary_pct": 0.25, "rotary_emb_base": 20000)",
     "decoder: 0-3 4/4x64 half 16 @20000 s0.125 causal"},
    {"nemotron", kDecoder, R"(, "head_dim": 64)", "decoder: 0-3 4/2x64 half 32 @20000 s0.125 causal"},
    {"persimmon", kDecoder, R"(, "qk_layernorm": true)", "decoder: 0-3 4/4x64 half 32 @20000 s0.125 layer causal"},
    {"glm4_moe_lite", kLatent, "", "decoder: 0-1 4/4x64:32 interleaved 48+16 @20000 s0.125 causal"},
    {"youtu", kLatent, R"(, "rope_interleave": false)", "decoder: 0-1 4/4x64:32 half 48+16 @20000 s0.125 causal"},
    {"longcat_flash",
     R"("hidden_size": 256, "num_attention_heads": 4, "num_layers": 2, "max_position_embeddings": 4096,
        "rope_theta": 20000, "qk_nope_head_dim": 48, "qk_rope_head_dim": 16, "v_head_dim": 32, "q_lora_rank": 64)",
     "", "decoder: 0-3 4/4x64:32 interleaved 48+16 @20000 s0.25 causal"},
    {"mistral4", kLatent,
     R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 20000, "llama_4_scaling_beta": 0.1,
        "original_max_position_embeddings": 1024})",
     "decoder: 0-1 4/4x64:32 interleaved 48+16 @20000 s0.125 query-scale causal"},

    {"cwm", kDecoder, R"(, "head_dim": 64, "sliding_window": 32, "rope_parameters": {"rope_type": "default"})",
     "decoder: 0 4/2x64 half 64 @20000 s0.125 causal; 1-3 4/2x64 half 64 @20000 s0.125 causal w31,0"},
    {"dots1", kDecoder, R"(, "sliding_window": 32, "max_window_layers": 3)",
     "decoder: 0-2 4/2x64 half 64 @20000 s0.125 rms causal; 3 4/2x64 half 64 @20000 s0.125 rms causal w31,0"},
    {"ministral", kDecoder, R"(, "sliding_window": 32)", "decoder: 0-3 4/2x64 half 64 @20000 s0.125 causal w31,0"},
    {"vaultgemma", kDecoder,
     R"(, "head_dim": 64, "sliding_window": 32, "query_pre_attn_scalar": 16, "attn_logit_softcapping": 50.0,
        "layer_types": ["full_attention", "full_attention", "full_attention", "sliding_attention"])",
     "decoder: 0-2 4/2x64 half 64 @20000 s0.25 cap50 causal; 3 4/2x64 half 64 @20000 s0.25 cap50 causal w31,0"},
    {"afmoe", kDecoder, R"(, "head_dim": 64, "sliding_window": 32, "global_attn_every_n_layers": 4)",
     "decoder: 0-2 4/2x64 half 64 @20000 s0.125 rms causal w31,0; 3 4/2x64 s0.125 rms causal"},
    {"exaone_moe", kDecoder, R"(, "sliding_window": 32, "sliding_window_pattern": 4)",
     "decoder: 0-2 4/2x64 half 64 @20000 s0.125 rms causal w31,0; 3 4/2x64 s0.125 rms causal"},
    {"kolibri1", kDecoder, R"(, "head_dim": 64, "sliding_window": null)", kNormed},
    {"flint", kDecoder,
     R"(, "head_dim": 64, "sliding_window": 32,
        "layer_types": ["full_attention", "sliding_attention", "sliding_attention", "full_attention"])",
     "decoder: 0 4/2x64 s0.125 sinks rms causal; 1-2 4/2x64 half 64 @20000 s0.125 sinks rms causal w31,0; "
     "3 4/2x64 s0.125 sinks rms causal"},
    {"gemma3n_text", kDecoder,
     R"(, "head_dim": 64, "sliding_window": 32, "rope_local_base_freq": 500, "num_kv_shared_layers": 2,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"])",
     "decoder: 0 4/2x64 half 64 @500 s1 rms causal w31,0; 1 4/2x64 half 64 @20000 s1 rms causal; "
     "2 4/2x64 kv0 half 64 @500 s1 rms causal w31,0; 3 4/2x64 kv1 half 64 @20000 s1 rms causal"},
    {"granite_swa", kDecoder,
     R"(, "sliding_window": 32, "attention_multiplier": 0.5, "layer_rope_theta": [0, 500, 500, 20000])",
     "decoder: 0 4/2x64 s0.5 sinks causal; 1-2 4/2x64 half 64 @500 s0.5 sinks causal w31,0; "
     "3 4/2x64 half 64 @20000 s0.5 sinks causal w31,0"},
    {"mellum", kDecoder,
     R"(, "head_dim": 64, "sliding_window": 32, "rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 90000},
        "sliding_attention": {"rope_type": "default", "rope_theta": 500}},
        "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"])",
     "decoder: 0-2 4/2x64 half 64 @500 s0.125 rms causal w31,0; 3 4/2x64 half 64 @90000 s0.125 rms causal"},

    {"bamba", kDecoder, R"(, "attn_layer_indices": [1])",
     "decoder: 0 state; 1 4/2x64 half 32 @20000 s0.125 causal; 2-3 state"},
    {"falcon_h1", kDecoder, R"(, "key_multiplier": 0.5)", "decoder: 0-3 4/2x64 half 64 @20000 s0.0625 causal"},
    {"jamba", kDecoder, R"(, "attn_layer_period": 2, "attn_layer_offset": 1)",
     "decoder: 0 state; 1 4/2x64 s0.125 causal; 2 state; 3 4/2x64 s0.125 causal"},
    {"lfm2", kDecoder, R"(, "full_attn_idxs": [2])",
     "decoder: 0-1 convolution; 2 4/2x64 half 64 @20000 s0.125 rms causal; 3 convolution"},
    {"lfm2_moe", kDecoder, R"(, "layer_types": ["conv", "conv", "full_attention", "conv"])",
     "decoder: 0-1 convolution; 2 4/2x64 half 64 @20000 s0.125 rms causal; 3 convolution"},
    {"minimax", kDecoder, "",
     "decoder: 0 4/2x64 half 64 @20000 s0.125 causal; 1 linear; 2 4/2x64 half 64 @20000 s0.125 causal; 3 linear"},
    {"olmo_hybrid", kDecoder, R"(, "rope_parameters": {"rope_type": "default", "rope_theta": null})",
     "decoder: 0-2 linear; 3 4/2x64 s0.125 rms-all causal"},
    {"qwen3_next", kDecoder, R"(, "head_dim": 64, "partial_rotary_factor": 0.25, "full_attention_interval": 4)",
     "decoder: 0-2 linear; 3 4/2x64 half 16 @20000 s0.125 rms causal"},
    {"recurrent_gemma", kDecoder,
     R"(, "attention_window_size": 32, "block_types": ["recurrent", "recurrent", "attention"])",
     "decoder: 0-1 state; 2 4/2x64 half 32 @20000 s0.125 causal w31,0; 3 state"},
    {"zamba", kDecoder, R"(, "attention_head_dim": 32, "layers_block_type": ["mamba", "hybrid", "mamba", "hybrid"])",
     "decoder: 0 state; 1 4/2x32 s0.25 causal; 2 state; 3 4/2x32 s0.25 causal"},
    {"zamba2", kDecoder, R"(, "use_mem_rope": true, "layers_block_type": ["mamba", "mamba", "mamba", "hybrid"])",
     "decoder: 0-2 state; 3 4/2x128 half 128 @20000 s0.125 causal"},
    {"phi4_multimodal", kDecoder, R"(, "partial_rotary_factor": 0.5, "sliding_window": 32)",
     "decoder: 0-3 4/2x64 half 32 @20000 s0.125 causal w31,0"},
    {"openai-gpt", R"("n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 128)", "",
     "decoder: table 128+0; 0-1 4/4x16 s0.25 causal"},
    {"imagegpt", R"("n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 128)", "",
     "decoder: table 128+0; 0-1 4/4x16 s0.25 causal"},
};

// Sections of one head of 64 channels, which add up to its 32 pairs, or to the 16 of half a head.
constexpr std::string_view kSections = R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 20000,
  "mrope_section": [8, 12, 12]})";
constexpr std::string_view kHalfSections = R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 20000,
  "partial_rotary_factor": 0.5, "mrope_section": [4, 6, 6]})";
constexpr Kin kSeveralAxes[] = {
    {"glm4v_moe_text", kDecoder, kHalfSections, "decoder: 0-3 4/2x64 half 32 @20000 thw s0.125 causal"},
    {"glm_ocr_text", kDecoder, kSections, "decoder: 0-3 4/2x64 interleaved 64 @20000 thw s0.125 causal"},
    {"paddleocr_vl_text", kDecoder,
     R"(, "head_dim": 64, "rope_parameters": {"rope_theta": 20000, "mrope_section": [8, 12, 12]})",
     "decoder: 0-3 4/2x64 half 64 @20000 thw s0.125 causal"},
    {"qwen2_5_omni_text", kDecoder, kSections, "decoder: 0-3 4/2x64 half 64 @20000 thw s0.125 causal"},
    {"qwen3_omni_moe_text", kDecoder,
     R"(, "rope_parameters": {"rope_type": "default", "rope_theta": 20000, "mrope_section": [12, 10, 10]})",
     "decoder: 0-3 4/2x64 half 64 @20000 thw s0.125 rms causal"},
};

constexpr std::string_view kBertLike = "encoder: table 128+0 types3; 0-1 4/4x16 s0.25 both";
constexpr std::string_view kRobertaLike = "encoder: table 128+2 types3; 0-1 4/4x16 s0.25 both";
constexpr std::string_view kFromTwo = "encoder: table 130+2 types3; 0-1 4/4x16 s0.25 both";
constexpr std::string_view kBartLike =
    "decoder: table 130+2 x8; 0 2/2x32 s0.176777 causal; 1 cross 2/2x32 s0.176777 both | "
    "encoder: table 130+2 x8; 0-1 4/4x16 s0.25 both";
constexpr std::string_view kM2m100Like =
    "decoder: sines+2 x8; 0 2/2x32 s0.176777 causal; 1 cross 2/2x32 s0.176777 both | "
    "encoder: sines+2 x8; 0-1 4/4x16 s0.25 both";
constexpr std::string_view kT5Sizes = R"("d_model": 64, "d_kv": 16, "num_heads": 4, "num_layers": 1,
  "num_decoder_layers": 1, "relative_attention_num_buckets": 16, "relative_attention_max_distance": 64)";

constexpr Kin kEncoders[] = {
    {"ernie", kEncoder, "", kBertLike},
    {"rembert", kEncoder, "", kBertLike},
    {"roc_bert", kEncoder, "", kBertLike},
    {"splinter", kEncoder, "", kBertLike},
    {"squeezebert", kEncoder, "", kBertLike},
    {"chinese_clip_text_model", kEncoder, "", kBertLike},
    {"ibert", kEncoder, "", kRobertaLike},
    {"luke", kEncoder, "", kRobertaLike},
    {"xmod", kEncoder, "", kRobertaLike},
    {"altclip_text_model", kEncoder, "", kRobertaLike},
    {"bridgetower_text_model", kEncoder, "", kRobertaLike},
    {"big_bird", kEncoder, R"(, "rescale_embeddings": true)",
     "encoder: table 128+0 types3 x8; 0-1 4/4x16 s0.25 sparse"},
    {"big_bird", kEncoder, R"(, "attention_type": "original_full")", kBertLike},
    {"nystromformer", kEncoder, "", kFromTwo},
    {"yoso", kEncoder, "", kFromTwo},
    {"mra", kEncoder, "", kFromTwo},
    {"eurobert", kEncoder, R"(, "rope_theta": 20000)", "encoder: 0-1 4/4x16 half 16 @20000 s0.25 both"},
    {"gte", kEncoder, R"(, "rope_theta": 20000)", "encoder: 0-1 4/4x16 half 16 @20000 s0.25 both"},
    {"jina_embeddings_v3", kEncoder, R"(, "rope_theta": 20000)", "encoder: 0-1 4/4x16 half 16 @20000 s0.25 both"},
    {"esmc", kEncoder, R"(, "rope_theta": 20000)", "encoder: 0-1 4/4x16 half 16 @20000 s0.25 layer-all both"},
    {"roformer", kEncoder, "", "encoder: 0-1 4/4x16 interleaved 16 @10000 s0.25 both"},
    {"clip_text_model", kText, "", "text: table 77+0; 0-1 4/4x16 s0.25 causal"},
    {"owlvit_text_model", kText, "", "text: table 77+0; 0-1 4/4x16 s0.25 causal"},
    {"siglip_text_model", kText, "", "text: table 77+0; 0-1 4/4x16 s0.25 both"},
    {"mvp", kPair, R"(, "scale_embedding": true)", kBartLike},
    {"plbart", kPair, "", kBartLike},
    {"fsmt", kPair, "", kM2m100Like},
    {"nllb-moe", kPair, "", kM2m100Like},
    {"bigbird_pegasus", kPair, "",
     "decoder: table 128+0 x8; 0 2/2x32 s0.176777 causal; 1 cross 2/2x32 s0.176777 both | "
     "encoder: table 128+0 x8; 0-1 4/4x16 s0.25 sparse"},
    {"led", kPair,
     R"(, "max_encoder_position_embeddings": 512, "max_decoder_position_embeddings": 64, "attention_window": [8, 32])",
     "decoder: table 64+0; 0 2/2x32 s0.176777 causal; 1 cross 2/2x32 s0.176777 both | "
     "encoder: table 512+0; 0 4/4x16 s0.25 sparse w4,4; 1 4/4x16 s0.25 sparse w16,16"},
    {"longt5", kT5Sizes, R"(, "local_radius": 7)",
     "decoder: 0 4/4x16 t5 16/64 s1 causal; 1 cross 4/4x16 s1 both | encoder: 0 4/4x16 t5 16/64 s1 both w7,7"},
    {"longt5", kT5Sizes, R"(, "local_radius": 7, "encoder_attention_type": "transient-global")",
     "decoder: 0 4/4x16 t5 16/64 s1 causal; 1 cross 4/4x16 s1 both | encoder: 0 4/4x16 t5 16/64 s1 sparse w7,7"},
    {"switch_transformers", kT5Sizes, "",
     "decoder: 0 4/4x16 t5 16/64 s1 causal; 1 cross 4/4x16 s1 both | encoder: 0 4/4x16 t5 16/64 s1 both"},
};

// 16 patches; rows for a class token and a second one stand before them.
constexpr std::string_view kClassAndPatches = "vision: table 17+0; 0-1 4/4x16 s0.25 both";
constexpr std::string_view kPatchesAlone = "vision: table 16+0; 0-1 4/4x16 s0.25 both";
constexpr Kin kTowers[] = {
    {"vit", kTower, "", kClassAndPatches},
    {"vit_msn", kTower, "", kClassAndPatches},
    {"deit", kTower, "", "vision: table 18+0; 0-1 4/4x16 s0.25 both"},
    {"ijepa", kTower, "", kPatchesAlone},
    {"timesformer", kTower, R"(, "num_frames": 8)", "vision: table 17+0; table 8+0; 0-3 4/4x16 s0.25 sparse"},
    {"clip_vision_model", kTower, "", kClassAndPatches},
    {"siglip_vision_model", kTower, "", kPatchesAlone},
    {"owlvit_vision_model", kTower, "", kClassAndPatches},
    {"phi4_multimodal_vision", kTower, "", kPatchesAlone},
    {"janus_vision_model", kTower, R"(, "use_qk_norm": true)", "vision: table 16+0; 0-1 4/4x16 s0.25 layer-all both"},
};

class KinFamilies : public testing::TestWithParam<Kin> {};

TEST_P(KinFamilies, is_what_its_class_says) {
  const Plan plan = plan_of(config(GetParam()));
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(plan.model_type, GetParam().type);
  EXPECT_EQ(summary(plan), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Decoders, KinFamilies, testing::ValuesIn(kDecoders));
INSTANTIATE_TEST_SUITE_P(SeveralAxes, KinFamilies, testing::ValuesIn(kSeveralAxes));
INSTANTIATE_TEST_SUITE_P(Encoders, KinFamilies, testing::ValuesIn(kEncoders));
INSTANTIATE_TEST_SUITE_P(Towers, KinFamilies, testing::ValuesIn(kTowers));

// ---- several stacks ----

std::string composite(std::string_view type, std::string_view text, std::string_view tower) {
  return "{\"model_type\": \"" + std::string(type) + "\", \"text_config\": {" + std::string(text) +
         "}, \"vision_config\": {" + std::string(tower) + "}}";
}

TEST(KinWrappers, each_tower_is_of_the_type_that_the_wrapper_fixes) {
  for (const std::string_view type : {"clip", "clipseg", "metaclip_2", "owlvit", "owlv2"}) {
    const Plan plan = plan_of(composite(type, kText, kTower));
    EXPECT_TRUE(plan.known) << type;
    EXPECT_EQ(plan.family, type);
    EXPECT_EQ(summary(plan), "text: table 77+0; 0-1 4/4x16 s0.25 causal | " + std::string(kClassAndPatches)) << type;
  }
  const Plan siglip = plan_of(composite("siglip", kText, kTower));
  EXPECT_EQ(summary(siglip), "text: table 77+0; 0-1 4/4x16 s0.25 both | " + std::string(kPatchesAlone));
}

TEST(KinWrappers, llava_s_kin_have_their_own_text) {
  for (const std::string_view type : {"llava_next", "llava_next_video", "vipllava", "video_llava"}) {
    const Plan plan = plan_of(composite(type, kDecoder, kTower));
    EXPECT_TRUE(plan.known) << type;
    EXPECT_TRUE(plan.warnings.empty()) << type;
    EXPECT_EQ(summary(plan), std::string(kPlain) + " | " + std::string(kClassAndPatches)) << type;
  }
}

TEST(KinWrappers, paligemma_s_image_and_prompt_are_a_prefix) {
  const Plan plan = plan_of(composite("paligemma", std::string(kDecoder) + R"(, "head_dim": 64)", kTower));
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(summary(plan), "decoder: 0-3 4/2x64 half 64 @20000 s0.125 prefix | " + std::string(kPatchesAlone));
}

// Its configuration writes the switch into the text's, whose class is not asked for a mask: the wrapper makes it.
TEST(KinWrappers, paligemma_s_prefix_stays_where_the_text_says_bidirectional) {
  const Plan plan = plan_of(composite(
      "paligemma", std::string(kDecoder) + R"(, "head_dim": 64, "use_bidirectional_attention": true)", kTower));
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(summary(plan), "decoder: 0-3 4/2x64 half 64 @20000 s0.125 prefix | " + std::string(kPatchesAlone));
}

TEST(KinWrappers, what_stands_between_the_towers_is_a_stack) {
  const Plan plan = plan_of(
      R"({"model_type": "blip-2", "text_config": {"model_type": "opt", )" + std::string(kText) +
      R"(}, "vision_config": {)" + std::string(kTower) + R"(}, "qformer_config": {)" +
      R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 3, "cross_attention_frequency": 2}})");
  EXPECT_TRUE(plan.known);
  ASSERT_EQ(plan.stacks.size(), 3U);
  EXPECT_EQ(summary(plan.stacks[2]),
            "qformer: 0 4/4x16 s0.25 both; 1 cross 4/4x16 s0.25 both; 2-3 4/4x16 s0.25 both; "
            "4 cross 4/4x16 s0.25 both");
}

TEST(KinWrappers, an_image_encoder_before_a_text_decoder) {
  const Plan plan = plan_of(R"({"model_type": "vision-encoder-decoder", "encoder": {"model_type": "deit", )" +
                            std::string(kTower) + R"(}, "decoder": {"model_type": "gpt2", "n_embd": 64, "n_head": 4,
                            "n_layer": 1, "n_positions": 128, "add_cross_attention": true}})");
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(summary(plan),
            "decoder: table 128+0; 0 4/4x16 s0.25 causal; 1 cross 4/4x16 s0.25 both | "
            "vision: table 18+0; 0-1 4/4x16 s0.25 both");
}

// ---- what is refused, and what is not known ----

TEST(KinFamilies, a_missing_list_that_no_rule_makes_leaves_the_stack_unknown) {
  for (const std::string_view type : {"flint", "zamba", "zamba2"}) {
    const Plan plan = plan_of(config({type, kDecoder, R"(, "sliding_window": 32)", ""}));
    ASSERT_EQ(plan.stacks.size(), 1U) << type;
    EXPECT_FALSE(plan.known);
    EXPECT_TRUE(plan.stacks[0].layers.empty()) << type;
    EXPECT_EQ(plan.stacks[0].unknown.size(), 1U) << type;
  }
}

TEST(KinFamilies, lists_and_periods_are_checked) {
  EXPECT_EQ(error_of(config({"jamba", kDecoder, R"(, "attn_layer_period": 2, "attn_layer_offset": 2)", ""})).path,
            "/attn_layer_offset");
  EXPECT_EQ(error_of(config({"bamba", kDecoder, R"(, "attn_layer_indices": [4])", ""})).kind, ErrorKind::out_of_range);
  EXPECT_EQ(error_of(config({"recurrent_gemma", kDecoder, R"(, "block_types": [])", ""})).path, "/block_types");
  EXPECT_EQ(error_of(config({"recurrent_gemma", kDecoder, R"(, "block_types": ["near"])", ""})).kind,
            ErrorKind::out_of_range);
  EXPECT_EQ(error_of(config({"granite_swa", kDecoder, R"(, "layer_rope_theta": [1, 2])", ""})).kind,
            ErrorKind::length_mismatch);
  EXPECT_EQ(error_of(config({"led", kPair, R"(, "attention_window": "8")", ""})).path, "/attention_window");
}

TEST(KinFamilies, small_hybrids_have_still_a_layer_that_attends) {
  const Plan plan = plan_of(R"({"model_type": "olmo_hybrid", "hidden_size": 64, "num_attention_heads": 4,
    "num_hidden_layers": 2, "max_position_embeddings": 128, "rope_theta": 20000})");
  EXPECT_EQ(summary(plan), "decoder: 0 linear; 1 4/4x16 half 16 @20000 s0.25 rms-all causal");
}

TEST(KinFamilies, nanochat_rotates_clockwise) {
  const Plan plan = plan_of(config({"nanochat", kDecoder, "", ""}));
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(summary(plan), "decoder: 0-3 4/2x64 half 64 @20000 clockwise s0.125 rms-after causal");
  EXPECT_EQ(source_of(plan, "/stacks/0/layers/0-3/rotate/0/rotation_direction"), "default: the nanochat family");
  const Plan scaled =
      plan_of(config({"nanochat", kDecoder, R"(, "rope_scaling": {"type": "linear", "factor": 4})", ""}));
  EXPECT_EQ(summary(scaled), "decoder: 0-3 4/2x64 half 64 @20000 clockwise linear4 s0.125 rms-after causal");
}

TEST(KinFamilies, doge_s_dynamic_mask_is_said_in_words) {
  const Plan chosen = plan_of(config({"doge", kDecoder, R"(, "sliding_window": 32)", ""}));
  EXPECT_EQ(chosen.stacks.at(0).layers.at(0).mask.window, (Window{.past = 31, .future = 0}));
  EXPECT_TRUE(chosen.known);
  EXPECT_EQ(chosen.stacks.front().layers.front().mask.kind, MaskKind::sparse);
}

TEST(KinFamilies, roformer_s_rotated_values_are_not_known) {
  const Plan plan = plan_of(config({"roformer", kEncoder, R"(, "rotary_value": true)", ""}));
  EXPECT_FALSE(plan.known);
  EXPECT_EQ(codes(plan), std::vector<std::string>{"undecided"});
}

TEST(KinFamilies, beit_s_tables_of_distances_are_named) {
  const Plan plan = plan_of(config(
      {"beit", kTower, R"(, "use_absolute_position_embeddings": true, "use_relative_position_bias": true)", ""}));
  EXPECT_FALSE(plan.known);
  EXPECT_EQ(codes(plan), std::vector<std::string>{"undecided"});
  EXPECT_EQ(summary(plan), kClassAndPatches);
}

}  // namespace
}  // namespace posenc::test::kin_families_test
