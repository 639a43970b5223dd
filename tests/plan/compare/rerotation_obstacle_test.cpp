// Whether cached keys of real models can be rotated again.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "plan/gguf_reading.h"
#include "plan/read/plan_reading.h"
#include "posenc/rotate.h"

namespace posenc::test::rerotation_obstacle_test {
namespace {

using Obstacle = std::optional<std::string>;
constexpr const char* kWeights = "a norm with weights follows the rotation";
constexpr const char* kStill = "keys are not rotated";

TEST(RerotationObstacle, IsNoneWithoutANormOrWithOneBeforeTheRotation) {
  for (const char* const preset : {"llama-3.1-8b", "gpt-oss-20b", "deepseek-v3", "qwen3-8b", "gemma-3-4b"}) {
    const Plan plan = preset_plan(preset);
    ASSERT_FALSE(plan.stacks.at(0).layers.empty());
    for (const LayerPlan& layer : plan.stacks[0].layers) {
      EXPECT_EQ(rerotation_obstacle(layer), Obstacle()) << preset << " layer " << layer.index;
    }
  }
  EXPECT_EQ(layer_of(preset_plan("qwen3-8b"), 0).qk_norm.value().order, QkNorm::Order::before);
}

TEST(RerotationObstacle, IsANormWithWeightsAfterTheRotation) {
  const Plan plan = gguf_plan(model("hunyuan-dense").zeros("blk.0.attn_k_norm.weight", {64}));
  ASSERT_TRUE(layer_of(plan, 0).qk_norm);
  EXPECT_EQ(layer_of(plan, 0).qk_norm->order, QkNorm::Order::after);
  EXPECT_EQ(rerotation_obstacle(layer_of(plan, 0)), kWeights);
}

TEST(RerotationObstacle, IsThatNothingRotates) {
  int still = 0;
  const Plan plan = preset_plan("smollm3-3b");
  for (const LayerPlan& layer : plan.stacks.at(0).layers) {
    EXPECT_EQ(rerotation_obstacle(layer), layer.rotate.empty() ? Obstacle(kStill) : Obstacle());
    still += layer.rotate.empty() ? 1 : 0;
  }
  EXPECT_EQ(still, 9);  // every fourth of 36
}

// A norm without weights keeps what a rotation keeps, unless it takes off the mean.
TEST(RerotationObstacle, DependsOnTheKindOfNorm) {
  LayerPlan layer;
  layer.rotate.push_back({.scheme = Rope{.pairing = Pairing::half, .head_dim = 8, .dim = 8}});
  for (const QkNorm::Kind kind : {QkNorm::Kind::rms, QkNorm::Kind::l2, QkNorm::Kind::layer}) {
    layer.qk_norm = QkNorm{.kind = kind, .order = QkNorm::Order::after, .weighted = false};
    EXPECT_EQ(rerotation_obstacle(layer), kind == QkNorm::Kind::layer
                                              ? Obstacle("a norm that subtracts the mean follows the rotation")
                                              : Obstacle());
    layer.qk_norm->weighted = true;
    EXPECT_EQ(rerotation_obstacle(layer), kWeights);
    layer.qk_norm->order = QkNorm::Order::before;
    EXPECT_EQ(rerotation_obstacle(layer), Obstacle());
  }
}

}  // namespace
}  // namespace posenc::test::rerotation_obstacle_test
