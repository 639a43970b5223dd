// Detectors and decoders of masks, each by a small config of our own and the facts that follow from its class in
// transformers 5.23.0: what is added in every layer, and which layers sample values.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "plan/families/kin.h"
#include "plan/plan_summary.h"
#include "plan/read/plan_reading.h"

namespace posenc::test::detectors_test {
namespace {

constexpr std::string_view kPair = R"("d_model": 64, "encoder_layers": 2, "decoder_layers": 2,
  "encoder_attention_heads": 4, "decoder_attention_heads": 2, "num_queries": 10, "backbone": "resnet18")";
constexpr std::string_view kInner = R"("d_model": 64, "encoder_hidden_dim": 32, "encoder_layers": 1,
  "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 2, "encode_proj_layers": [1, 2],
  "positional_encoding_temperature": 10000, "backbone_config": {"model_type": "hgnet_v2"})";
constexpr std::string_view kNoInner = R"("d_model": 64, "decoder_layers": 2, "decoder_attention_heads": 2,
  "encode_proj_layers": [], "backbone_config": {"model_type": "hgnet_v2"})";
constexpr std::string_view kMasks = R"("hidden_size": 64, "num_attention_heads": 2, "num_hidden_layers": 2,
  "attention_downsample_rate": 4, "num_multimask_outputs": 3)";

constexpr std::string_view kMasked = R"("hidden_dim": 64, "num_attention_heads": 2, "encoder_layers": 2,
  "decoder_layers": 3, "num_queries": 10, "backbone_config": {"model_type": "resnet"})";

constexpr Kin kDetectors[] = {
    {"detr", kPair, "",
     "encoder: 0-1 4/4x16 +qk:axis_sines s0.25 both | decoder: 0 2/2x32 +qk:learned10 s0.176777 both; "
     "1 cross 2/2x32 +q:learned10 +k:axis_sines s0.176777 both; 2 2/2x32 +qk:learned10 s0.176777 both; "
     "3 cross 2/2x32 +q:learned10 +k:axis_sines s0.176777 both"},
    {"table-transformer", kPair, R"(, "position_embedding_type": "learned")",
     "encoder: 0-1 4/4x16 +qk:axial s0.25 both | decoder: 0 2/2x32 +qk:learned10 s0.176777 both; "
     "1 cross 2/2x32 +q:learned10 +k:axial s0.176777 both; 2 2/2x32 +qk:learned10 s0.176777 both; "
     "3 cross 2/2x32 +q:learned10 +k:axial s0.176777 both"},
    {"conditional_detr", kPair, "",
     "encoder: 0-1 4/4x16 +qk:axis_sines s0.25 both | decoder: 0 2/2x32 +qk/projected:learned10 s0.176777 both; "
     "1 cross 2/2x64:32 +q/projected:learned10 +k/projected:axis_sines +q/beside:axis_sines +k/beside:axis_sines "
     "s0.125 both; 2 2/2x32 +qk/projected:learned10 s0.176777 both; "
     "3 cross 2/2x64:32 +q/beside*:axis_sines +k/beside:axis_sines s0.125 both"},
    {"dab-detr", kPair, R"(, "hidden_size": 64, "temperature_height": 20, "temperature_width": 20)",
     "encoder: 0-1 4/4x16 +qk*:axis_sines s0.25 both | decoder: 0 2/2x32 +qk/projected:axis_sines s0.176777 both; "
     "1 cross 2/2x64:32 +q/projected:axis_sines +k/projected:axis_sines +q/beside*:axis_sines +k/beside:axis_sines "
     "s0.125 both; 2 2/2x32 +qk/projected:axis_sines s0.176777 both; "
     "3 cross 2/2x64:32 +q/beside*:axis_sines +k/beside:axis_sines s0.125 both"},
    {"deformable_detr", kPair, "",
     "encoder: 0-1 deformable | decoder: 0 2/2x32 +qk:learned10 s0.176777 both; 1 deformable; "
     "2 2/2x32 +qk:learned10 s0.176777 both; 3 deformable"},
    {"rt_detr", kInner, "",
     "encoder: 0-1 4/4x8 +qk:axis_sines s0.353553 both | decoder: 0 2/2x32 +qk:perceptron s0.176777 both; 1 "
     "deformable; "
     "2 2/2x32 +qk:perceptron s0.176777 both; 3 deformable"},
    {"rt_detr", kNoInner, "",
     "decoder: 0 2/2x32 +qk:perceptron s0.176777 both; 1 deformable; 2 2/2x32 +qk:perceptron s0.176777 both; 3 "
     "deformable"},
    {"d_fine", kInner, R"(, "eval_size": [640, 640])",
     "encoder: 0-1 4/4x8 s0.353553 both | decoder: 0 2/2x32 +qk:perceptron s0.176777 both; 1 deformable; "
     "2 2/2x32 +qk:perceptron s0.176777 both; 3 deformable"},
    // The last of three layers is none.
    {"mask2former", kMasked, "",
     "pixel_decoder: 0-1 deformable | "
     "decoder: 0 cross 2/2x32 +q:learned10 +k:axis_sines +kv:learned3 s0.176777 sparse; 1 2/2x32 +qk:learned10 "
     "s0.176777 both; 2 cross 2/2x32 +q:learned10 +k:axis_sines +kv:learned3 s0.176777 sparse; 3 2/2x32 +qk:learned10 "
     "s0.176777 both"},
    {"oneformer", kMasked, R"(, "query_dec_layers": 1)",
     "pixel_decoder: 0-1 deformable | query_decoder: 0 2/2x32 +qk:learned9 s0.176777 both; 1 cross 2/2x32 +q:learned9 "
     "+kv:axis_sines s0.176777 both | "
     "decoder: 0 cross 2/2x32 +q:learned10 +k:axis_sines +kv:learned3 s0.176777 sparse; 1 2/2x32 +qk:learned10 "
     "s0.176777 both; 2 cross 2/2x32 +q:learned10 +k:axis_sines +kv:learned3 s0.176777 sparse; 3 2/2x32 +qk:learned10 "
     "s0.176777 both"},
    // Half of the 4 heads, and over them half of 96 channels where image and text look at each other.
    {"grounding-dino", R"("d_model": 64, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4,
      "decoder_attention_heads": 2, "encoder_ffn_dim": 96, "backbone_config": {"model_type": "resnet"})",
     R"(, "text_config": {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1})",
     "text: table 512+0 types2; 0 4/4x16 s0.25 sparse | encoder: 0-1 cross 2/2x24 s0.204124 both; 2 2/2x32 "
     "+qk:axis_sines s0.176777 sparse; 3 deformable | decoder: 0 2/2x32 +qk:axis_sines s0.176777 both; 1 cross 2/2x32 "
     "+q:axis_sines s0.176777 both; 2 deformable"},
    {"sam3_detr_encoder", R"("hidden_size": 64, "num_attention_heads": 2, "num_layers": 2)", "",
     "encoder: 0 2/2x32 +qk:axis_sines s0.176777 both; 1 cross 2/2x32 s0.176777 both; 2 2/2x32 +qk:axis_sines "
     "s0.176777 "
     "both; 3 cross 2/2x32 s0.176777 both"},
    {"sam3_mask_decoder", R"("hidden_size": 64, "num_attention_heads": 2)", "",
     "mask_decoder: 0 cross 2/2x32 s0.176777 both"},
    {"lxmert", R"("hidden_size": 64, "num_attention_heads": 4, "l_layers": 2, "r_layers": 1, "x_layers": 2,
      "max_position_embeddings": 128, "type_vocab_size": 2)",
     R"(, "visual_pos_dim": 4)",
     "encoder: table 128+0 types2; 0-1 4/4x16 s0.25 both | regions: another input; 0 4/4x16 s0.25 both | "
     "joined: 0-1 cross 4/4x16 s0.25 both; 2-3 4/4x16 s0.25 both; 4-5 cross 4/4x16 s0.25 both; 6-7 4/4x16 s0.25 both"},
    {"superglue", R"("hidden_size": 64, "num_attention_heads": 4, "gnn_layers_types": ["self", "self", "cross"])", "",
     "matcher: another input; 0-1 4/4x16 s0.25 both; 2 cross 4/4x16 s0.25 both"},
    {"sam_mask_decoder", kMasks, "",
     "mask_decoder: 0 2/2x32 s0.176777 both; 1 cross 2/2x16 +q:learned5 +q:fourier +k:fourier s0.25 both; "
     "2 cross 2/2x16 +q:fourier +k:learned5 +k:fourier s0.25 both; "
     "3 2/2x32 +qk:learned5 +qk:fourier s0.176777 both; 4 cross 2/2x16 +q:learned5 +q:fourier +k:fourier s0.25 both; "
     "5 cross 2/2x16 +q:fourier +k:learned5 +k:fourier s0.25 both; "
     "6 cross 2/2x8 +q:learned5 +q:fourier +k:fourier s0.353553 both"},
    {"yolos", R"("hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 3, "image_size": [32, 64],
      "patch_size": 8, "num_detection_tokens": 5, "use_mid_position_embeddings": true)",
     "", "vision: table 38+0; 0 4/4x16 s0.25 both; 1-2 4/4x16 +all:learned38 s0.25 both"},
};

class Detectors : public ::testing::TestWithParam<Kin> {};

TEST_P(Detectors, are_read) {
  const Plan plan = plan_of(config(GetParam()));
  EXPECT_TRUE(plan.known) << describe(plan);
  EXPECT_EQ(summary(plan), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(All, Detectors, ::testing::ValuesIn(kDetectors));

TEST(Detectors, with_a_backbone_that_nobody_named_are_not_known) {
  const Plan plan = plan_of(R"({"model_type": "detr", "d_model": 64, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 2, "backbone": "vit_tiny_patch16_224"})");
  EXPECT_FALSE(plan.known);
  EXPECT_FALSE(plan.stacks.at(0).known);
  EXPECT_EQ(plan.stacks.at(0).name, "backbone");
}

TEST(Detectors, whose_class_makes_a_backbone_that_attends_are_not_known_without_it) {
  for (const std::string_view type : {"mask2former", "oneformer", "grounding-dino"}) {
    EXPECT_FALSE(plan_of(config({type, R"("decoder_layers": 3)", "", ""})).known) << type;
  }
}

TEST(Detectors, places_and_levels_are_named) {
  const Plan masks = plan_of(config({"mask2former", kMasked, "", ""}));
  const LayerPlan& cross = masks.stacks.at(1).layers.at(0);
  EXPECT_EQ(cross.added.at(2).to, AddedTo::keys_and_values);
  EXPECT_EQ(std::get<LearnedInput>(cross.added.at(2).scheme).tokens, "levels");
  EXPECT_EQ(cross.mask.detail,
            "cells of the mask that the block before predicted for the query; all of them where it has none");
  const Plan matcher = plan_of(
      R"({"model_type": "superglue", "hidden_size": 64, "num_attention_heads": 4, "gnn_layers_types": ["self"]})");
  EXPECT_EQ(std::get<PerceptronInput>(matcher.stacks.at(0).input.at(0)),
            (PerceptronInput{.coordinates = 2, .of = PlaceOf::points}));
}

TEST(Detectors, say_which_key_does_not_suit) {
  EXPECT_EQ(error_of(R"({"model_type": "superglue", "gnn_layers_types": ["self", "both"]})").path,
            "/gnn_layers_types/1");
  EXPECT_EQ(error_of(R"({"model_type": "superglue", "gnn_layers_types": []})").path, "/gnn_layers_types");
  constexpr std::string_view kOdd = R"("d_model": 60, "encoder_attention_heads": 3, "decoder_attention_heads": 2,
    "text_config": {}, "backbone_config": {"model_type": "resnet"})";
  EXPECT_EQ(error_of(config({"grounding-dino", kOdd, "", ""})).path, "/encoder_attention_heads");
  constexpr std::string_view kWide = R"("d_model": 64, "encoder_attention_heads": 4, "encoder_ffn_dim": 98,
    "text_config": {}, "backbone_config": {"model_type": "resnet"})";
  EXPECT_EQ(error_of(config({"grounding-dino", kWide, "", ""})).path, "/encoder_ffn_dim");
}

TEST(Detectors, of_two_stages_are_not_known) {
  const Plan plan = plan_of(R"({"model_type": "deformable_detr", "two_stage": true, "backbone": "resnet50"})");
  EXPECT_FALSE(plan.known);
}

}  // namespace
}  // namespace posenc::test::detectors_test
