// Vision encoders, each by a small config of our own and the facts that follow from its class in transformers 5.23.0:
// pyramids with their stages, windows and reduced keys, towers with windows in listed layers, image tokenizers, and
// wrappers of a backbone. The facts were written down before the reader saw the config.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plan/families/family_configs.h"
#include "plan/plan_summary.h"
#include "plan/read/plan_reading.h"

namespace posenc::test::vision_families_test {
namespace {

struct Vision {
  std::string_view id;  // of vision_configs()
  std::string_view expected;
};
void PrintTo(const Vision& vision, std::ostream* out) { *out << vision.id; }

constexpr std::string_view kSamLike =
    "vision: table 64+0; 0 4/4x16 another score s0.25 sparse; 1 4/4x16 another score s0.25 both";
constexpr Vision kVision[] = {
    // Channels double: 32, 64; over 2 and 4 heads.
    {"swin",
     "vision_stage1: 0-1 2/2x16 another score s0.25 sparse | vision_stage2: 0-2 4/4x16 another score s0.25 sparse"},
    {"swin with a table",
     "vision_stage1: table 64+0; 0-1 2/2x16 another score s0.25 sparse | "
     "vision_stage2: 0-2 4/4x16 another score s0.25 sparse"},
    {"donut-swin", "vision_stage1: 0-1 2/2x16 another score s0.25 sparse"},
    {"maskformer-swin", "vision_stage1: 0-1 2/2x16 another score s0.25 sparse"},
    {"segformer", "vision_stage1: 0 1/1x16 s0.25 both | vision_stage2: 0-1 2/2x16 s0.25 both"},
    {"glpn", "vision_stage1: 0 1/1x16 s0.25 both | vision_stage2: 0-1 2/2x16 s0.25 both"},
    {"pvt_v2", "vision_stage1: 0 1/1x16 s0.25 both | vision_stage2: 0-1 2/2x16 s0.25 both"},
    // 64 / 4 = 16 patches a side; then 64 / 4 / 2 = 8, and a class token.
    {"pvt", "vision_stage1: table 256+0; 0 1/1x16 s0.25 both | vision_stage2: table 65+0; 0-1 2/2x16 s0.25 both"},
    // 1 / sqrt of all 64 channels of the second stage, not of a head's.
    {"cvt", "vision_stage1: 0 1/1x16 s0.25 both | vision_stage2: 0-1 4/4x16 s0.125 both"},
    {"mobilevit",
     "vision_stage1: 0-1 4/4x16 s0.25 sparse | vision_stage2: 0-3 4/4x16 s0.25 sparse | "
     "vision_stage3: 0-2 4/4x16 s0.25 sparse"},
    // The second stage is the first that sees its grid: its first block has windows of the stage before.
    {"hiera",
     "vision_stage1: table 256+0; 0 1/1x16 s0.25 sparse | vision_stage2: 0 2/2x16 s0.25 sparse; 1 2/2x16 s0.25 both"},
    {"sam2_hiera_det_model",
     "vision_stage1: table 16+0; table 64+0; 0 1/1x16 s0.25 sparse | vision_stage2: 0 2/2x16 s0.25 sparse; 1 2/2x16 "
     "s0.25 both"},
    {"vitdet", "vision: table 17+0; 0 4/4x16 another score s0.25 both; 1 4/4x16 another score s0.25 sparse"},
    {"lw_detr_vit", "vision: table 17+0; 0 4/4x16 s0.25 both; 1 4/4x16 s0.25 sparse"},
    {"rf_detr_dinov2", "vision: table 65+0; 0 4/4x16 s0.25 both; 1 4/4x16 s0.25 sparse"},
    {"sam_vision_model", kSamLike},
    {"slanext_vision", kSamLike},
    // 8 patches a side count as the 2 of a window.
    {"sam3_vit_model",
     "vision: table 16+0; 0 4/4x16 interleaved 16 @10000 wh s0.25 sparse; "
     "1 4/4x16 interleaved 16 @10000 wh linear4 s0.25 both"},
    {"eomt", "vision: table 64+0; 0 4/4x16 s0.25 both; 1 4/4x16 s0.25 sparse"},
    {"videomt", "vision: table 64+0; 0-1 4/4x16 s0.25 both"},
    {"mgp-str", "vision: table 33+0; 0-1 4/4x16 s0.25 both"},
    {"dpt", "vision: table 65+0; 0-1 4/4x16 s0.25 both"},
    {"vitpose", "vision: table 65+0; 0-1 4/4x16 s0.25 both"},
    {"beit", "vision: table 65+0; 0-1 4/4x16 s0.25 both"},
    {"idefics2_perceiver", "perceiver: 0-2 4/2x16 s0.25 both"},
    {"swiftformer", "vision: 0 convolution; 1-2 linear"},
    {"mobilevitv2", "vision: 0-2 linear"},
    // The level of 16 pixels, the second of 32 and 16; two blocks there, and the middle.
    {"chameleon_vqgan", "image_encoder: 0-2 1/1x64 s0.125 both"},
    {"janus_vqgan", "image_encoder: 0-2 1/1x64 s0.125 both | image_decoder: 0-3 1/1x64 s0.125 both"},
    {"emu3_vqgan", "image_encoder: 0-2 4/4x16 s0.25 both | image_decoder: 0-3 4/4x16 s0.25 both"},
    {"depth_pro",
     "image: table 17+0; 0-1 4/4x16 s0.25 both | patch: table 17+0; 0-1 4/4x16 s0.25 both | "
     "field_of_view: table 17+0; 0-1 4/4x16 s0.25 both"},
    {"pp_formulanet",
     "decoder: table 130+2 x8; 0 2/2x32 s0.176777 causal; 1 cross 2/2x32 s0.176777 both | vision: table 64+0; "
     "0 4/4x16 another score s0.25 sparse; 1 4/4x16 another score s0.25 both"},
};

class VisionFamilies : public testing::TestWithParam<Vision> {};

TEST_P(VisionFamilies, is_what_its_class_says) {
  const Plan plan = plan_of(family_config(GetParam().id));
  EXPECT_TRUE(plan.known);
  EXPECT_EQ(summary(plan), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(All, VisionFamilies, testing::ValuesIn(kVision));

std::vector<std::string> details(const Stack& stack) {
  std::vector<std::string> all;
  for (const LayerPlan& layer : stack.layers) all.push_back(layer.mask.detail);
  return all;
}

TEST(Pyramids, say_windows_reduced_keys_and_pooled_queries) {
  const Plan swin = plan_of(family_config("swin"));
  EXPECT_EQ(details(swin.stacks[0]),
            (std::vector<std::string>{"windows of 4 x 4 patches",
                                      "windows of 4 x 4 patches, 2 patches further on where the grid is larger than a "
                                      "window, and in a backbone"}));
  EXPECT_EQ(std::get<GridBias>(swin.stacks[1].layers[2].score.at(0)), (GridBias{.rows = 4, .columns = 4}));
  EXPECT_EQ(details(plan_of(family_config("segformer")).stacks[0]),
            std::vector<std::string>{"keys and values are made of 4 x 4 patches each"});
  EXPECT_EQ(
      details(plan_of(family_config("sam2_hiera_det_model")).stacks[1]),
      (std::vector<std::string>{"windows of 8 x 8 patches of the stage before; a query is the largest of 2 x 2", ""}));
  EXPECT_EQ(
      details(plan_of(family_config("hiera")).stacks[1]),
      (std::vector<std::string>{"windows of 4 x 4 patches of the stage before; a query is the largest of 2 x 2", ""}));
}

TEST(Pyramids, whose_stages_do_not_agree_are_not_known) {
  for (const std::string_view odd : {R"("depths": [1, 1], "num_heads": [2], "embed_dim": 32, "window_size": 4)",
                                     R"("depths": [1, 1], "num_heads": [3, 4], "embed_dim": 32, "window_size": 4)",
                                     R"("depths": [], "num_heads": [], "embed_dim": 32, "window_size": 4)",
                                     R"("depths": [400, 400], "num_heads": [2, 4], "embed_dim": 32, "window_size": 4)",
                                     R"("depths": [1], "num_heads": [1], "embed_dim": 16384, "window_size": 4)"}) {
    SCOPED_TRACE(odd);
    const Result<Plan> plan = read("{\"model_type\": \"swin\", " + std::string(odd) + "}");
    EXPECT_FALSE(plan.ok() && plan->known);
  }
}

TEST(VisionFamilies, leave_open_what_no_form_says) {
  for (
      const std::string_view open :
      {R"({"model_type": "beit", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
           "use_relative_position_bias": true})",
       R"({"model_type": "vitdet", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
           "image_size": [64, 32], "patch_size": 8, "use_relative_position_embeddings": true})",
       R"({"model_type": "dpt", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "is_hybrid": true})",
       R"({"model_type": "dpt", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
           "backbone_config": {"model_type": "dinov2"}})",
       R"({"model_type": "depth_anything", "backbone": "some/backbone", "backbone_config": null})"}) {
    SCOPED_TRACE(open);
    EXPECT_FALSE(plan_of(open).known);
  }
}

// Three axes need a pair each.
TEST(VisionFamilies, the_smallest_heads) {
  const auto of = [](std::string_view type, std::string_view width) {
    return R"({"model_type": ")" + std::string(type) + R"(", "num_attention_heads": 4, "num_hidden_layers": 1,
      "image_size": 32, "patch_size": 8, "hidden_size": )" +
           std::string(width) + "}";
  };
  EXPECT_EQ(rope(plan_of(of("minimax_m3_vl_vision", "24")).stacks.at(0).layers.at(0).rotate.at(0)).dim, 6);
  EXPECT_EQ(error_of(of("minimax_m3_vl_vision", "20")).path, "/hidden_size");
  const LayerPlan one = plan_of(of("vit", "4")).stacks.at(0).layers.at(0);
  EXPECT_EQ(one.head_dim, 1);
  EXPECT_EQ(one.value_dim, 1);
}

// Of n rows the i-th stands at (2 i + 1) / n - 1, and rotates by 2 pi times that.
TEST(VisionFamilies, rotation_by_coordinates_of_the_image) {
  const Plan plan = plan_of(R"({"model_type": "sapiens2", "hidden_size": 64, "num_attention_heads": 4,
    "num_hidden_layers": 3, "num_key_value_attention_heads": 2, "num_first_full_attention_layers": 1,
    "num_last_full_attention_layers": 1, "image_size": 32, "patch_size": 8, "rope_theta": 100})");
  ASSERT_TRUE(plan.known);
  const auto& layers = plan.stacks.at(0).layers;
  ASSERT_EQ(layers.size(), 3U);
  EXPECT_EQ(layers[0].kv_heads, 4);
  EXPECT_EQ(layers[1].kv_heads, 2);
  EXPECT_EQ(layers[2].kv_heads, 4);
  const std::vector<double> inv_freq = frequencies(rope(layers[0].rotate.at(0))).inv_freq;
  ASSERT_EQ(inv_freq.size(), 8U);
  for (std::size_t j = 0; j < 4; ++j) {
    const double expected = 6.283185307179586 / std::pow(100.0, static_cast<double>(j) / 4);
    EXPECT_NEAR(inv_freq[j], expected, 1e-12 * expected);
    EXPECT_EQ(inv_freq[j + 4], inv_freq[j]);
  }
}

}  // namespace
}  // namespace posenc::test::vision_families_test
