// Vision towers, Q-Formers and the wrappers of them, each by a small config of our own and the facts that follow from
// its class in transformers 5.23.0.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "plan/families/kin.h"
#include "plan/plan_summary.h"
#include "plan/read/plan_reading.h"

namespace posenc::test::tower_families_test {
namespace {

constexpr std::string_view kSizes = R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2)";
constexpr std::string_view kImage =
    R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "image_size": 32, "patch_size": 8)";

// The image has 16 patches.
constexpr Kin kTowers[] = {
    {"aimv2_vision_model", kImage, "", "vision: table 16+0; 0-1 4/4x16 s0.25 both"},
    {"bridgetower_vision_model", R"("hidden_size": 128, "num_hidden_layers": 2, "image_size": 32, "patch_size": 8)", "",
     "vision: table 17+0; 0-1 2/2x64 s0.125 both"},
    {"cosmos3_edge_vision", kSizes, R"(, "num_patches": 9)", "vision: table 9+0; 0-1 4/4x16 s0.25 both"},
    {"dots3_note_vision_encoder", kSizes, "", "vision: 0-1 4/4x16 half 16 @10000 hw s0.25 rms both"},
    {"ernie4_5_vl_moe_vision", R"("hidden_size": 64, "num_heads": 4, "depth": 2)", "",
     "vision: 0-1 4/4x16 half 16 @10000 hw s0.25 both"},
    {"exaone4_5_vision", R"("hidden_size": 64, "num_heads": 4, "depth": 2)",
     R"(, "num_key_value_heads": 2, "window_size": 32, "patch_size": 8, "fullatt_block_indexes": [1])",
     "vision: 0 4/2x16 half 16 @10000 hw s0.25 sparse; 1 4/2x16 half 16 @10000 hw s0.25 both"},
    {"flava_multimodal_model", kSizes, "", "multimodal: 0-1 4/4x16 s0.25 both"},
    {"glm_image_vision", kImage, "", "vision: table 16+0; 0-1 4/4x16 s0.25 both"},
    {"got_ocr2_vision", kImage, R"(, "use_rel_pos": false, "window_size": 2, "global_attn_indexes": [1])",
     "vision: table 16+0; 0 4/4x16 s0.25 sparse; 1 4/4x16 s0.25 both"},
    {"hunyuan_vl_vision", kSizes, R"(, "max_image_size": 32, "patch_size": 8)",
     "vision: table 17+0; 0-1 4/4x16 s0.25 both"},
    {"idefics_vision", R"("embed_dim": 64, "num_attention_heads": 4, "num_hidden_layers": 2)",
     R"(, "image_size": 32, "patch_size": 8)", "vision: table 17+0; 0-1 4/4x16 s0.25 both"},
    {"inkling2_vision", kSizes, R"(, "posemb_grid_size": 5)",
     "vision: table 25+0; 0-1 4/4x16 interleaved 16 @10000 wh s0.25 both"},
    {"lfm3_vl_vision", kSizes, R"(, "num_key_value_heads": 2, "layer_types": ["conv", "full_attention"])",
     "vision: 0 convolution; 1 4/2x16 half 16 @1e+06 hw s0.25 rms both"},
    {"minimax_m3_vl_vision", R"("hidden_size": 160, "num_attention_heads": 4, "num_hidden_layers": 1)", "",
     "vision: 0 4/4x40 half 36 @10000 thw s0.158114 both"},
    {"molmo2_vision", kSizes, R"(, "num_key_value_heads": 4, "head_dim": 16, "num_position_embeddings": 9)",
     "vision: table 9+0; 0-1 4/4x16 s0.25 both"},
    {"molmo2_adapter", R"("hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16)", "",
     "adapter: 0 cross 4/2x16 s0.25 both"},
    {"muse_spark_vision", kSizes,
     R"(, "pos_emb_height": 4, "pos_emb_width": 4, "layer_types": ["window_attention", "full_attention"])",
     "vision: table 16+0; 0 4/4x16 half 16 @10000 wh s0.25 sparse; 1 4/4x16 half 16 @10000 wh s0.25 both"},
    {"paddleocr_vl_vision", kImage, "", "vision: table 16+0; 0-1 4/4x16 half 16 @10000 hw s0.25 both"},
    {"pix2struct_vision_model", kSizes, R"(, "d_kv": 8, "seq_len": 7)", "vision: another input; 0-1 4/4x8 s1 both"},
    {"pixio", kImage, R"(, "n_cls_tokens": 3)", "vision: table 19+0; 0-1 4/4x16 s0.25 both"},
    {"radio", kSizes, R"(, "max_img_size": 64, "image_size": 32, "patch_size": 8)",
     "vision: table 64+0; 0-1 4/4x16 s0.25 both"},
    {"step3p5_vision", kImage, "", "vision: table 16+0; 0-1 4/4x16 half 16 @10000 wh s0.25 both"},
    {"tipsv2_vision_model", kImage, "", "vision: table 17+0; 0-1 4/4x16 s0.25 both"},
    {"video_llama_3_vision", kSizes, "", "vision: 0-1 4/4x16 half 16 @10000 hw s0.25 both"},
    {"videomae", kImage, R"(, "num_frames": 4, "tubelet_size": 2)", "vision: sines+0; 0-1 4/4x16 s0.25 both"},
    {"videoprism_vision_model", R"("hidden_size": 64, "num_attention_heads": 4, "num_spatial_layers": 2)",
     R"(, "num_temporal_layers": 1, "image_size": 36, "tubelet_size": [1, 18, 9], "num_frames": 5)",
     "vision: table 8+0; 0-1 4/4x16 s0.25 cap50 both | vision_temporal: table 5+0; 0 4/4x16 s0.25 cap50 both"},
    {"vit_mae", kImage, "", "vision: table 17+0; 0-1 4/4x16 s0.25 both"},
    {"vivit", kSizes, R"(, "image_size": 32, "num_frames": 4, "tubelet_size": [2, 8, 16])",
     "vision: table 17+0; 0-1 4/4x16 s0.25 both"},
    {"xclip_vision_model", kImage, "",
     "vision: table 17+0; 0-1 4/4x16 s0.25 both | vision_messages: 0-1 4/4x16 s0.25 both"},
};

class TowerFamilies : public testing::TestWithParam<Kin> {};

TEST_P(TowerFamilies, is_what_its_class_says) {
  const Plan plan = plan_of(config(GetParam()));
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(summary(plan), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Towers, TowerFamilies, testing::ValuesIn(kTowers));

TEST(TowerFamilies, what_a_plan_cannot_say_is_not_known) {
  for (const std::string& text : {config("mlcd", kImage, ""), config("vjepa2", kSizes, R"(, "patch_size": 8)"),
                                  config("aimv2_vision_model", kImage, R"(, "is_native": true)"),
                                  config("bridgetower_vision_model", kImage, R"(, "remove_last_layer": true)")}) {
    const Plan plan = plan_of(text);
    EXPECT_FALSE(plan.known) << text;
    EXPECT_EQ(plan.stacks.front().unknown.size(), 1U) << text;
  }
}

TEST(TowerFamilies, lists_and_clips_are_checked) {
  EXPECT_EQ(error_of(config("vivit", kSizes, R"(, "num_frames": 1, "image_size": 32)")).path, "/num_frames");
  EXPECT_EQ(error_of(config("vivit", kSizes, R"(, "tubelet_size": [2, 8], "image_size": 32)")).path, "/tubelet_size");
  EXPECT_EQ(error_of(config("lfm3_vl_vision", kSizes, R"(, "num_key_value_heads": 4, "layer_types": ["conv"])")).path,
            "/layer_types");
  EXPECT_EQ(error_of(config("lfm3_vl_vision", kSizes,
                            R"(, "num_key_value_heads": 4, "layer_types": ["conv", "window_attention"])"))
                .path,
            "/layer_types");
  EXPECT_EQ(error_of(config("bridgetower_vision_model", R"("hidden_size": 96, "num_hidden_layers": 2)", "")).path,
            "/hidden_size");
}

// ---- several stacks ----

constexpr std::string_view kOptText =
    R"("model_type": "opt", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1,
       "max_position_embeddings": 77, "ffn_dim": 8, "word_embed_proj_dim": 64)";

TEST(TowerWrappers, a_q_former_looks_at_the_image_in_each_nth_block) {
  const Plan plan =
      plan_of(R"({"model_type": "instructblip", "text_config": {)" + std::string(kOptText) +
              R"(}, "vision_config": {)" + std::string(kImage) + R"(}, "qformer_config": {)" + std::string(kSizes) +
              R"(, "max_position_embeddings": 30, "cross_attention_frequency": 2}})");
  EXPECT_TRUE(plan.known);
  ASSERT_EQ(plan.stacks.size(), 3U);
  EXPECT_EQ(summary(plan.stacks[2]),
            "qformer: table 30+0; 0 4/4x16 s0.25 both; 1 cross 4/4x16 s0.25 both; 2 4/4x16 s0.25 both");
}

TEST(TowerWrappers, bridges_have_their_layers_by_the_top) {
  const Plan plan =
      plan_of(R"({"model_type": "bridgetower", "num_hidden_layers": 1, "text_config": {)" + std::string(kSizes) +
              R"(, "max_position_embeddings": 77}, "vision_config": {)" + std::string(kImage) + "}}");
  EXPECT_TRUE(plan.known);
  ASSERT_EQ(plan.stacks.size(), 4U);
  EXPECT_EQ(summary(plan.stacks[2]), "cross_modal_text: 0 4/4x16 s0.25 both; 1 cross 4/4x16 s0.25 both");
  EXPECT_EQ(summary(plan.stacks[3]), "cross_modal_image: 0 4/4x16 s0.25 both; 1 cross 4/4x16 s0.25 both");
}

TEST(TowerWrappers, two_towers_without_a_text) {
  const Plan plan = plan_of(R"({"model_type": "unlimited_ocr_vision", "sam_config": {)" + std::string(kImage) +
                            R"(, "use_rel_pos": false}, "encoder_config": {)" + std::string(kImage) + "}}");
  EXPECT_TRUE(plan.known);
  ASSERT_EQ(plan.stacks.size(), 2U);
  EXPECT_EQ(plan.stacks[0].name, "vision_sam");
  EXPECT_EQ(plan.stacks[1].name, "vision_clip");
}

// Apple's files of AIMv2 say the type of the pair, and hold the tower alone.
TEST(TowerWrappers, a_file_without_the_pair_s_objects_is_the_tower) {
  const Plan plan = plan_of(config("aimv2", kImage, ""));
  EXPECT_FALSE(plan.known);
  ASSERT_EQ(plan.stacks.size(), 1U);
  EXPECT_EQ(plan.stacks[0].name, "vision");
}

}  // namespace
}  // namespace posenc::test::tower_families_test
