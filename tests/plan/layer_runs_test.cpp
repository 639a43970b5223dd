#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "posenc/plan.h"

namespace posenc::layer_runs_test {
namespace {

std::string text(std::vector<std::int64_t> blocks) { return selection(LayerRun{{}, std::move(blocks)}); }

// Layers 0 .. count - 1; those for which `global` holds see everything, the others slide.
template <typename Global>
Stack gemma(std::int64_t count, Global global) {
  Stack stack;
  for (std::int64_t i = 0; i < count; ++i) {
    LayerPlan layer;
    layer.index = i;
    layer.heads = 8;
    if (!global(i)) layer.mask.window = Window{.past = 1023, .future = 0};
    stack.layers.push_back(layer);
  }
  return stack;
}

TEST(LayerRuns, merges_layers_that_differ_in_index_only) {
  const auto runs = layer_runs(gemma(62, [](std::int64_t i) { return i % 6 == 5; }));
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].layers.size(), 52U);
  EXPECT_EQ(runs[1].layers, (std::vector<std::int64_t>{5, 11, 17, 23, 29, 35, 41, 47, 53, 59}));
  EXPECT_EQ(selection(runs[0]), "0-4, 6-10, ..., 54-58, 60-61");
  EXPECT_EQ(selection(runs[1]), "5, 11, ..., 59 (every 6th)");
}

TEST(LayerRuns, every_layer_is_in_one_run) {
  const Stack stack = gemma(33, [](std::int64_t i) { return i * i % 7 < 3; });
  std::vector<std::int64_t> all;
  for (const LayerRun& run : layer_runs(stack)) all.insert(all.end(), run.layers.begin(), run.layers.end());
  std::sort(all.begin(), all.end());
  std::vector<std::int64_t> expected(33);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
  EXPECT_TRUE(layer_runs(Stack{}).empty());
}

// A block with self and cross attention gives two layers of one index.
TEST(LayerRuns, selection_names_blocks) {
  Stack stack;
  for (std::int64_t i = 0; i < 6; ++i) {
    for (const LayerKind kind : {LayerKind::attention, LayerKind::cross_attention}) {
      LayerPlan& layer = stack.layers.emplace_back();
      layer.index = i;
      layer.kind = kind;
    }
  }
  const auto runs = layer_runs(stack);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[1].layers, (std::vector<std::int64_t>{1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(selection(runs[1]), "0-5");
}

TEST(LayerRuns, selection_recognises_strides) {
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(text({7}), "7");
  EXPECT_EQ(text({0, 1, 2, 3}), "0-3");
  EXPECT_EQ(text({0, 2, 4, 6}), "0, 2, 4, 6");
  EXPECT_EQ(text({0, 2, 4, 6, 8}), "0, 2, ..., 8 (every 2nd)");
  EXPECT_EQ(text({3, 6, 9, 12, 15, 17}), "3, 6, ..., 15 (every 3rd), 17");
  EXPECT_EQ(text({0, 12, 24, 36, 48}), "0, 12, ..., 48 (every 12th)");
  EXPECT_EQ(text({1, 22, 43, 64, 85}), "1, 22, ..., 85 (every 21st)");
  EXPECT_EQ(text({0, 3, 5, 9, 14, 15}), "0, 3, 5, 9, 14-15");
}

TEST(LayerRuns, selection_stands_any_index) {
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(text({kHigh, kLow, 0}), std::to_string(kLow) + ", 0, " + std::to_string(kHigh));
}

}  // namespace
}  // namespace posenc::layer_runs_test
