// Expected plans of the small configs, layer by layer, and the words in which tests say them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "plan/families/family_configs.h"
#include "plan/read/plan_reading.h"

namespace posenc::test {

struct Expected {
  std::string id;
  std::int64_t trained_length = 0;
  std::vector<LayerPlan> layers;
  std::vector<std::string> warnings = {};
  bool known = true;
};

// heads, kv heads, channels; 1 / sqrt(channels)
inline LayerPlan attention(std::int64_t heads, std::int64_t kv_heads, std::int64_t head_dim) {
  LayerPlan layer;
  layer.heads = heads;
  layer.kv_heads = kv_heads;
  layer.head_dim = layer.value_dim = head_dim;
  layer.softmax_scale = 1 / std::sqrt(static_cast<double>(head_dim));
  return layer;
}

inline LayerPlan rotated(LayerPlan layer, Pairing pairing, double base, std::int64_t dim, Scaling scaling = {}) {
  layer.rotate = {Rotate{.role = RotateRole::main,
                         .heads = layer.heads,
                         .scheme = Rope{.pairing = pairing,
                                        .head_dim = layer.head_dim,
                                        .first_channel = 0,
                                        .dim = dim,
                                        .base = base,
                                        .scaling = std::move(scaling),
                                        .axes = {}}}};
  return layer;
}

inline LayerPlan half(LayerPlan layer, double base, Scaling scaling = {}) {
  return rotated(layer, Pairing::half, base, layer.head_dim, std::move(scaling));
}
inline LayerPlan interleaved(LayerPlan layer, double base, Scaling scaling = {}) {
  return rotated(layer, Pairing::interleaved, base, layer.head_dim, std::move(scaling));
}
inline LayerPlan windowed(LayerPlan layer, std::int64_t past, std::int64_t future = 0) {
  layer.mask.window = Window{past, future};
  return layer;
}
inline LayerPlan both_ways(LayerPlan layer) {
  layer.mask.kind = MaskKind::bidirectional;
  return layer;
}
inline LayerPlan scaled(LayerPlan layer, double softmax_scale) {
  layer.softmax_scale = softmax_scale;
  return layer;
}
inline LayerPlan normed(LayerPlan layer, QkNorm norm) {
  layer.qk_norm = norm;
  return layer;
}

inline constexpr QkNorm kRms{.kind = QkNorm::Kind::rms};
inline constexpr QkNorm kRmsAcross{.kind = QkNorm::Kind::rms, .over = QkNorm::Over::all_heads};
inline constexpr QkNorm kLayerNorm{.kind = QkNorm::Kind::layer};

inline std::vector<LayerPlan> repeat(const LayerPlan& layer, std::size_t count) { return std::vector(count, layer); }

// As JSON, which shows every value.
inline std::string shown(const LayerPlan& layer) {
  Plan plan;
  plan.stacks = {Stack{.name = "decoder", .input = {}, .layers = {layer}}};
  return to_json(plan);
}

inline void expect_plan(const Expected& expected) {
  SCOPED_TRACE(expected.id);
  const Plan plan = plan_of(family_config(expected.id));
  EXPECT_EQ(plan.known, expected.known);
  EXPECT_EQ(codes(plan), expected.warnings);
  EXPECT_EQ(plan.trained_length, expected.trained_length);
  ASSERT_EQ(plan.stacks.size(), 1U);
  EXPECT_EQ(plan.stacks[0].name, "decoder");
  ASSERT_EQ(plan.stacks[0].layers.size(), expected.layers.size());
  for (std::size_t i = 0; i < expected.layers.size(); ++i) {
    LayerPlan wanted = expected.layers[i];
    wanted.index = static_cast<std::int64_t>(i);
    const LayerPlan& got = plan.stacks[0].layers[i];
    EXPECT_TRUE(got == wanted) << "layer " << i << " is\n" << shown(got) << "\nand not\n" << shown(wanted);
  }
}

}  // namespace posenc::test
