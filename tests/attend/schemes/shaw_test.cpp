// Shaw's keys and values, arXiv 1803.02155: by hand, and as Tensor2Tensor, Wav2Vec2-BERT and NEZHA compute them.
//
// Tables in papers and checkpoints begin with the most distant past (j - i = -left), posenc's with the most distant
// future. Numbers are whole and scales powers of two: products are exact, so both ways must give the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "attend/attending.h"
#include "attend/fused/matrix.h"
#include "support/tolerances.h"

namespace posenc::test::shaw_test {
namespace {

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kDepth = 3;
constexpr std::int64_t kQueries = 5;
constexpr std::int64_t kKeys = 8;

// Of a table [rows, channels]; per head [heads, rows, channels].
Tensor rows_reversed(const Tensor& table) {
  const std::int64_t rows = table.shape[table.shape.size() - 2];
  const std::int64_t channels = table.shape.back();
  Tensor out{{}, table.shape};
  for (auto head = table.values.begin(); head != table.values.end(); head += rows * channels) {
    for (std::int64_t row = rows - 1; row >= 0; --row) {
      out.values.insert(out.values.end(), head + row * channels, head + (row + 1) * channels);
    }
  }
  return out;
}

// _generate_relative_positions_matrix: distances of key to query, the last query standing with the last key, clipped
// and moved to begin at 0.
std::vector<std::int64_t> relative_positions(std::int64_t left, std::int64_t right) {
  std::vector<std::int64_t> range(kKeys);
  std::iota(range.begin(), range.end(), 0);
  std::vector<std::int64_t> out;
  for (auto query = range.end() - kQueries; query != range.end(); ++query) {
    for (const std::int64_t key : range) out.push_back(std::clamp(key - *query, -left, right) + left);
  }
  return out;
}

// _generate_relative_positions_embeddings: rows of the table for query i, [keys, depth].
Matrix gathered(const std::vector<std::int64_t>& positions, std::int64_t i, const Matrix& table) {
  Matrix out{.rows = kKeys, .columns = table.columns};
  for (std::int64_t j = 0; j < kKeys; ++j) {
    const std::int64_t row = positions[static_cast<std::size_t>(i * kKeys + j)];
    for (std::int64_t c = 0; c < table.columns; ++c) out(j, c) = table(row, c);
  }
  return out;
}

// _relative_attention_inner of one head: x y + for each row i of x, x_i z_i.
template <typename Relation>
Matrix relative_attention_inner(const Matrix& x, const Matrix& y, const Relation& z) {
  Matrix out = product(x, y);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    const Matrix added = product(rows_of(x, i, 1), z(i));
    for (std::int64_t c = 0; c < out.columns; ++c) out(i, c) += added(0, c);
  }
  return out;
}

struct Clip {
  std::int64_t left;
  std::int64_t right;
};
constexpr Clip kClips[] = {{2, 2}, {4, 1}, {0, 3}, {20, 20}};  // the second as Wav2Vec2-BERT's 64 and 8

LayerPlan layer() { return bare_layer(kHeads, kDepth, kDepth); }

// The paper's table w_-1, w_0, w_1 = 10, 20, 30, clip 1, one channel, queries of 1: the key before is 10, the next 30.
TEST(Shaw, CountsFromQueryToKey) {
  const Tensor one = tensor_of({3, 1, 1}, {1, 1, 1});
  const Tensor none = zeros({3, 1, 1});
  const Tensor table = tensor_of({3, 1}, {30, 20, 10});  // distances i - j of -1, 0, 1
  const Attended got = attended(
      layer_with(ShawKeys{.left = 1, .right = 1}),
      {.q = one, .k = none, .v = none, .weights = {.score = {ShawWeights{table}}}, .stage = ScoreStage::content});
  EXPECT_EQ(got.scores.values, (std::vector<double>{20, 30, 30, 10, 20, 30, 10, 10, 20}));
}

// Of values 1, 2, 3 each query sees one: 0 the last, 2 keys ahead; 1 itself; 2 the first.
TEST(Shaw, AddsTheRowOfTheKeyThatIsRead) {
  LayerPlan layer = bare_layer();
  layer.value = ShawValues{.left = 1, .right = 1};
  const Tensor none = zeros({3, 1, 1});
  const Tensor v = tensor_of({3, 1, 1}, {1, 2, 3});
  const Tensor table = tensor_of({3, 1}, {300, 200, 100});
  const Tensor seen = tensor_of({3, 3}, {0, 0, 1, 0, 1, 0, 1, 0, 0});
  const Attended got =
      attended(layer, {.q = none, .k = none, .v = v, .weights = {.value = {table}}, .inputs = {.attn_mask = seen}});
  EXPECT_EQ(got.out.values, (std::vector<double>{303, 202, 101}));
}

// transformers 4's relative_key_query: scores + q_l . E[l - r + max - 1] + k_r . E[l - r + max - 1], then the scale.
// Rows 10, 20, 30 for l - r of -1, 0, 1; queries 1, 2, keys 4, 8.
TEST(Shaw, KeysAskTooInBert) {
  const Tensor q = tensor_of({2, 1, 1}, {1, 2});
  const Tensor k = tensor_of({2, 1, 1}, {4, 8});
  const Tensor table = tensor_of({3, 1}, {10, 20, 30});
  LayerPlan layer = layer_with(ShawKeys{.left = 1, .right = 1, .by_keys = true});
  layer.softmax_scale = 0.5;
  const Attended got = attended(
      layer, {.q = q, .k = k, .v = k, .weights = {.score = {ShawWeights{table}}}, .stage = ScoreStage::content});
  // (4 + 1 20 + 4 20) / 2, (8 + 1 10 + 8 10) / 2; (8 + 2 30 + 4 30) / 2, (16 + 2 20 + 8 20) / 2
  EXPECT_EQ(got.scores.values, (std::vector<double>{52, 49, 94, 108}));
}

TEST(Shaw, KeysAreThoseOfTheBatchedForm) {
  Random random(1803);
  for (const auto& [left, right] : kClips) {
    for (const bool per_head : {false, true}) {
      const std::int64_t rows = left + right + 1;
      const Tensor stored =
          per_head ? whole_tensor(random, {kHeads, rows, kDepth}) : whole_tensor(random, {rows, kDepth});
      const Tensor table = rows_reversed(stored);
      const Tensor q = whole_tensor(random, {kQueries, kHeads, kDepth});
      const Tensor k = whole_tensor(random, {kKeys, kHeads, kDepth});
      LayerPlan asked = layer();
      asked.score = {ShawKeys{.left = left, .right = right}};
      asked.softmax_scale = 0.5;
      const Attended got = attended(
          asked, {.q = q, .k = k, .v = k, .weights = {.score = {ShawWeights{table}}}, .stage = ScoreStage::content});
      const auto positions = relative_positions(left, right);
      for (std::int64_t h = 0; h < kHeads; ++h) {
        const Matrix of_head =
            rows_of({.rows = std::ssize(stored.values) / kDepth, .columns = kDepth, .values = stored.values},
                    per_head ? h * rows : 0, rows);
        Matrix scaled = head_of(q, h);
        for (double& x : scaled.values) x *= 0.5;
        const Matrix wanted = relative_attention_inner(scaled, transposed(head_of(k, h)), [&](std::int64_t i) {
          return transposed(gathered(positions, i, of_head));
        });
        for (std::int64_t i = 0; i < kQueries; ++i) {
          for (std::int64_t j = 0; j < kKeys; ++j) {
            EXPECT_EQ(got.score(h, i, j), wanted(i, j)) << left << " " << right << ", " << h << " " << i << " " << j;
          }
        }
      }
    }
  }
}

// Each query sees four of eight keys, whose weights are 1/4 exactly.
TEST(Shaw, ValuesAreThoseOfTheBatchedForm) {
  Random random(2155);
  Tensor seen = zeros({kQueries, kKeys});
  Matrix weights{.rows = kQueries, .columns = kKeys};
  for (std::int64_t i = 0; i < kQueries; ++i) {
    for (const std::int64_t step : {0, 1, 3, 6}) {
      const std::int64_t key = (i + step) % kKeys;
      seen.values[static_cast<std::size_t>(i * kKeys + key)] = 1;
      weights(i, key) = 0.25;
    }
  }
  for (const auto& [left, right] : kClips) {
    const Tensor stored = whole_tensor(random, {left + right + 1, kDepth});
    const Tensor table = rows_reversed(stored);
    const Tensor q = zeros({kQueries, kHeads, kDepth});
    const Tensor k = zeros({kKeys, kHeads, kDepth});
    const Tensor v = whole_tensor(random, {kKeys, kHeads, kDepth});
    LayerPlan asked = layer();
    asked.value = ShawValues{.left = left, .right = right};
    const Attended got =
        attended(asked, {.q = q, .k = k, .v = v, .weights = {.value = {table}}, .inputs = {.attn_mask = seen}});
    const auto positions = relative_positions(left, right);
    for (std::int64_t h = 0; h < kHeads; ++h) {
      const Matrix wanted = relative_attention_inner(
          weights, head_of(v, h), [&](std::int64_t i) { return gathered(positions, i, matrix_of(stored)); });
      for (std::int64_t i = 0; i < kQueries; ++i) {
        for (std::int64_t c = 0; c < kDepth; ++c) {
          EXPECT_EQ(got.output(i, h, c), wanted(i, c)) << left << " " << right << ", " << h << " " << i << " " << c;
        }
      }
    }
  }
}

// NEZHA's table: embeddings_table[pos, 2i] = sin(pos / 10000^(2i/depth)), [pos, 2i + 1] the cosine; a row of it for
// each clipped j - i, moved to begin at 0.
TEST(Shaw, SinusoidsAreNezhas) {
  constexpr std::int64_t kChannels = 6;
  constexpr Clip kClip{4, 2};
  Matrix table{.rows = kClip.left + kClip.right + 1, .columns = kChannels};
  for (std::int64_t pos = 0; pos < table.rows; ++pos) {
    for (std::int64_t i = 0; i < kChannels / 2; ++i) {
      const double angle = static_cast<double>(pos) / std::pow(10000.0, 2.0 * static_cast<double>(i) / kChannels);
      table(pos, 2 * i) = std::sin(angle);
      table(pos, 2 * i + 1) = std::cos(angle);
    }
  }
  Random random(204);
  const Tensor q = whole_tensor(random, {kQueries, 1, kChannels});
  const Tensor k = zeros({kKeys, 1, kChannels});
  const Attended got =
      attended(layer_with(ShawKeys{.left = kClip.left, .right = kClip.right, .sinusoidal = true}, 1, kChannels),
               {.q = q, .k = k, .v = zeros({kKeys, 1, 1}), .stage = ScoreStage::content});
  const auto positions = relative_positions(kClip.left, kClip.right);
  const Matrix query = head_of(q, 0);
  for (std::int64_t i = 0; i < kQueries; ++i) {
    const Matrix wanted = product(rows_of(query, i, 1), transposed(gathered(positions, i, table)));
    std::vector<double> gains;
    for (std::int64_t c = 0; c < kChannels; c += 2) gains.push_back(std::abs(query(i, c)) + std::abs(query(i, c + 1)));
    const double size = std::accumulate(gains.begin(), gains.end(), 0.0);
    for (std::int64_t j = 0; j < kKeys; ++j) {
      const auto place = static_cast<double>(positions[static_cast<std::size_t>(i * kKeys + j)]);
      EXPECT_NEAR(got.score(0, i, j), wanted(0, j), sines_score_bound(gains, place, size, kChannels)) << i << " " << j;
    }
  }
}

// NEZHA's values take the rows of its keys: query i reads key j alone and gets v_j and that row.
TEST(Shaw, SinusoidsOfValuesAreNezhas) {
  constexpr std::int64_t kChannels = 4;
  LayerPlan layer = bare_layer(1, 1, kChannels);
  layer.value = ShawValues{.left = 4, .right = 2, .sinusoidal = true};
  const Tensor none = zeros({kKeys, 1, 1});
  const Tensor v = zeros({kKeys, 1, kChannels});
  for (std::int64_t j = 0; j < kKeys; ++j) {
    Tensor seen = zeros({1, kKeys});
    seen.values[static_cast<std::size_t>(j)] = 1;
    const std::vector<std::int64_t> query{3};
    const Attended got = attended(layer, {.q = zeros({1, 1, 1}),
                                          .k = none,
                                          .v = v,
                                          .inputs = {.q_positions = std::span<const std::int64_t>(query),
                                                     .k_positions = PositionRange{},
                                                     .attn_mask = seen}});
    const auto place = static_cast<double>(std::clamp<std::int64_t>(j - 3, -4, 2) + 4);
    for (std::int64_t c = 0; c < kChannels; c += 2) {
      const double w = std::pow(10000.0, -static_cast<double>(c) / kChannels);
      const double bound = 2 * sinusoid_error(place, w, kDoubleRounding);  // the reference's, and these
      EXPECT_NEAR(got.output(0, 0, c), std::sin(place * w), bound) << j;
      EXPECT_NEAR(got.output(0, 0, c + 1), std::cos(place * w), bound) << j;
    }
  }
}

}  // namespace
}  // namespace posenc::test::shaw_test
