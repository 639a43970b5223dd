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
constexpr std::string_view kMasks = R"("hidden_size": 64, "num_attention_heads": 2, "num_hidden_layers": 2,
  "attention_downsample_rate": 4, "num_multimask_outputs": 3)";

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
    {"dab-detr", kPair, R"(, "temperature_height": 20, "temperature_width": 20)",
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
    {"d_fine", kInner, R"(, "eval_size": [640, 640])",
     "encoder: 0-1 4/4x8 s0.353553 both | decoder: 0 2/2x32 +qk:perceptron s0.176777 both; 1 deformable; "
     "2 2/2x32 +qk:perceptron s0.176777 both; 3 deformable"},
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

TEST(Detectors, of_two_stages_are_not_known) {
  const Plan plan = plan_of(R"({"model_type": "deformable_detr", "two_stage": true, "backbone": "resnet50"})");
  EXPECT_FALSE(plan.known);
}

}  // namespace
}  // namespace posenc::test::detectors_test
