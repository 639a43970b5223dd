// Rows of height and width as SAM, arXiv 2304.02643, and MViTv2, arXiv 2112.01526, add them: get_rel_pos and
// add_decomposed_rel_pos. Whole numbers, exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "attend/attending.h"
#include "attend/fused/matrix.h"

namespace posenc::test::decomposed_hw_test {
namespace {

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kHeadDim = 3;
constexpr double kScale = 0.5;

struct Grid {
  std::int64_t h;
  std::int64_t w;
  std::int64_t tokens() const { return h * w; }
};

// get_rel_pos: which row of the table a query and a key of one axis meet. Where they are of different sizes, as with
// MViT's pooled keys, both are laid out in the finer steps, and the difference begins at 0.
std::int64_t relative_coordinate(std::int64_t q, std::int64_t q_size, std::int64_t k, std::int64_t k_size) {
  const double q_step = std::max(static_cast<double>(k_size) / static_cast<double>(q_size), 1.0);
  const double k_step = std::max(static_cast<double>(q_size) / static_cast<double>(k_size), 1.0);
  const double q_coord = static_cast<double>(q) * q_step;
  const double k_coord = static_cast<double>(k) * k_step;
  return static_cast<std::int64_t>((q_coord - k_coord) + static_cast<double>(k_size - 1) * k_step);
}

// (q * scale) @ k^T + rel_h[:, :, None] + rel_w[:, None, :] of one head; q is not scaled in the latter.
Matrix with_rel_pos(const Matrix& q, const Matrix& k, const Matrix& rel_pos_h, const Matrix& rel_pos_w, Grid queries,
                    Grid keys) {
  Matrix attn = product(q, transposed(k));
  const Matrix rel_h = product(q, transposed(rel_pos_h));  // every query with every row
  const Matrix rel_w = product(q, transposed(rel_pos_w));
  for (std::int64_t i = 0; i < attn.rows; ++i) {
    for (std::int64_t j = 0; j < attn.columns; ++j) {
      const std::int64_t of_h = relative_coordinate(i / queries.w, queries.h, j / keys.w, keys.h);
      const std::int64_t of_w = relative_coordinate(i % queries.w, queries.w, j % keys.w, keys.w);
      attn(i, j) = attn(i, j) * kScale + rel_h(i, of_h) + rel_w(i, of_w);
    }
  }
  return attn;
}

// Both coordinates of a grid's tokens in steps of so many, from there on.
std::vector<std::int64_t> coordinates(Grid grid, std::int64_t step = 1, std::int64_t first = 0) {
  std::vector<std::int64_t> out;
  for (std::int64_t t = 0; t < grid.tokens(); ++t) out.push_back(first + t / grid.w * step);
  for (std::int64_t t = 0; t < grid.tokens(); ++t) out.push_back(first + t % grid.w * step);
  return out;
}

struct Given {
  Grid queries;
  std::vector<std::int64_t> q_positions;
  Grid keys;
  std::vector<std::int64_t> k_positions;
  std::int64_t rows;
};

void expect_same(const Given& given, std::uint64_t seed) {
  Random random(seed);
  const Tensor q = whole_tensor(random, {given.queries.tokens(), kHeads, kHeadDim});
  const Tensor k = whole_tensor(random, {given.keys.tokens(), kHeads, kHeadDim});
  const Tensor rel_pos_h = whole_tensor(random, {given.rows, kHeadDim});
  const Tensor rel_pos_w = whole_tensor(random, {given.rows, kHeadDim});
  LayerPlan layer = bare_layer(kHeads, kHeadDim, kHeadDim);
  layer.score = {DecomposedHw{.rows = given.rows}};
  layer.softmax_scale = kScale;
  const Attended got = attended(layer, {.q = q,
                                        .k = k,
                                        .v = k,
                                        .weights = {.score = {DecomposedHwWeights{rel_pos_h, rel_pos_w}}},
                                        .inputs = {.q_positions = given.q_positions, .k_positions = given.k_positions},
                                        .stage = ScoreStage::biased});
  for (std::int64_t h = 0; h < kHeads; ++h) {
    const Matrix wanted = with_rel_pos(head_of(q, h), head_of(k, h), matrix_of(rel_pos_h), matrix_of(rel_pos_w),
                                       given.queries, given.keys);
    for (std::int64_t i = 0; i < wanted.rows; ++i) {
      for (std::int64_t j = 0; j < wanted.columns; ++j) {
        EXPECT_EQ(got.score(h, i, j), wanted(i, j)) << h << " " << i << " " << j;
      }
    }
  }
}

TEST(DecomposedHw, IsSams) {
  const Grid window{4, 4};
  expect_same({window, coordinates(window), window, coordinates(window), 7}, 2304);
}

// Queries of 4 x 4, keys pooled to 2 x 2: keys lie 2 apart. Differences begin at -2, tables at -3: keys stand 1
// further.
TEST(DecomposedHw, IsMvitsWithPooledKeys) {
  const Grid queries{4, 4};
  const Grid keys{2, 2};
  expect_same({queries, coordinates(queries), keys, coordinates(keys, 2, 1), 7}, 2112);
}

// Queries of 2 x 2, keys of 4 x 4: queries lie 2 apart; differences begin at -3, as tables do.
TEST(DecomposedHw, IsMvitsWithPooledQueries) {
  const Grid queries{2, 2};
  const Grid keys{4, 4};
  expect_same({queries, coordinates(queries, 2), keys, coordinates(keys), 7}, 1526);
}

}  // namespace
}  // namespace posenc::test::decomposed_hw_test
