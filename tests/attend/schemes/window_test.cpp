// Terms by two coordinates: Swin's windows, and the rows and columns of MViT and SAM.
#include <gtest/gtest.h>

#include <vector>

#include "attend/attending.h"
#include "posenc/scores.h"

namespace posenc::test::window_test {
namespace {

// A grid's tokens, row by row: first coordinates, then second ones.
std::vector<std::int64_t> grid_positions(std::int64_t rows, std::int64_t columns) {
  std::vector<std::int64_t> out;
  for (std::int64_t token = 0; token < rows * columns; ++token) out.push_back(token / columns);
  for (std::int64_t token = 0; token < rows * columns; ++token) out.push_back(token % columns);
  return out;
}

// Swin's relative_position_index: differences of both coordinates, moved to begin at 0, the first times 2 columns - 1.
std::vector<std::int64_t> swin_index(std::int64_t rows, std::int64_t columns) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    for (std::int64_t j = 0; j < rows * columns; ++j) {
      std::int64_t first = i / columns - j / columns;
      std::int64_t second = i % columns - j % columns;
      first += rows - 1;
      second += columns - 1;
      first *= 2 * columns - 1;
      out.push_back(first + second);
    }
  }
  return out;
}

// A 2 x 3 window has 3 * 5 = 15 rows. Token 0 meets token 0 in the middle, 7; token 5 in (0 - 1 + 1) 5 + 0 - 2 + 2 = 0.
TEST(GridBias, IsSwins) {
  const GridBias scheme{.rows = 2, .columns = 3};
  EXPECT_EQ(grid_row(scheme, 0, 0), 7);
  EXPECT_EQ(grid_row(scheme, -1, -2), 0);
  EXPECT_EQ(grid_row(scheme, 1, 2), 14);
  EXPECT_EQ(grid_row(scheme, 1, -2), 10);
  Tensor table = zeros({15, 2});
  for (std::size_t n = 0; n < 30; ++n) table.values[n] = static_cast<double>(n);  // row r: 2 r and 2 r + 1
  const std::vector<std::int64_t> positions = grid_positions(2, 3);
  const Attended got = biases(layer_with(scheme, 2), 6, 6, {.score = {GridBiasWeights{table}}},
                              {.q_positions = positions, .k_positions = positions});
  const std::vector<std::int64_t> index = swin_index(2, 3);
  for (std::size_t cell = 0; cell < 36; ++cell) {
    EXPECT_EQ(got.scores.values[cell], static_cast<double>(2 * index[cell])) << cell;
    EXPECT_EQ(got.scores.values[36 + cell], static_cast<double>(2 * index[cell] + 1)) << cell;
  }
}

// Two rows of two patches, one channel: tables of 3 rows by the difference -1, 0, 1 of the query's less the key's. The
// query is 2, the scale 1/2 does not touch it.
TEST(DecomposedHw, AddsARowAndAColumn) {
  LayerPlan layer = layer_with(DecomposedHw{.rows = 3});
  layer.softmax_scale = 0.5;
  const Tensor rows = tensor_of({3, 1}, {1, 2, 4});
  const Tensor columns = tensor_of({3, 1}, {10, 20, 40});
  const Tensor q = tensor_of({4, 1, 1}, {2, 2, 2, 2});
  const Tensor k = tensor_of({4, 1, 1}, {8, 8, 8, 8});
  const std::vector<std::int64_t> positions = grid_positions(2, 2);
  const LayerInputs inputs{.q_positions = positions, .k_positions = positions};
  const LayerWeights weights{.score = {DecomposedHwWeights{rows, columns}}};
  const Attended content =
      attended(layer, {.q = q, .k = k, .v = k, .weights = weights, .inputs = inputs, .stage = ScoreStage::content});
  const Attended biased =
      attended(layer, {.q = q, .k = k, .v = k, .weights = weights, .inputs = inputs, .stage = ScoreStage::biased});
  // q.k / 2 = 8. From token 0 (0, 0): itself, (0, 1), (1, 0), (1, 1).
  EXPECT_EQ(content.score(0, 0, 0), 8);
  EXPECT_EQ(biased.score(0, 0, 0), 8 + 2 * (2 + 20));
  EXPECT_EQ(biased.score(0, 0, 1), 8 + 2 * (2 + 10));
  EXPECT_EQ(biased.score(0, 0, 2), 8 + 2 * (1 + 20));
  EXPECT_EQ(biased.score(0, 0, 3), 8 + 2 * (1 + 10));
  EXPECT_EQ(biased.score(0, 3, 0), 8 + 2 * (4 + 40));
  EXPECT_EQ(biased.score(0, 2, 1), 8 + 2 * (4 + 10));
}

}  // namespace
}  // namespace posenc::test::window_test
