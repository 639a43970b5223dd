// DeBERTa's terms, arXiv 2006.03654 and 2111.09543, as its programs gather them: v1 (transformers' modeling_deberta),
// v2 and v3 (modeling_deberta_v2), and Microsoft's position to position. Whole numbers: products are exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "attend/attending.h"
#include "attend/fused/matrix.h"
#include "support/tolerances.h"

namespace posenc::test::deberta_test {
namespace {

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kHeadDim = 4;
constexpr std::int64_t kChannels = 5;  // of the table

struct Numbers {
  Numbers(std::int64_t tokens, std::int64_t span)
      : q(whole_tensor(random, {tokens, kHeads, kHeadDim})),
        k(whole_tensor(random, {tokens, kHeads, kHeadDim})),
        table(whole_tensor(random, {2 * span, kChannels})) {}

  Random random{2006};
  Tensor q;
  Tensor k;
  Tensor table;  // rel_embeddings
  Tensor key_weight = whole_tensor(random, {kHeads * kHeadDim, kChannels});
  Tensor key_bias = whole_tensor(random, {kHeads * kHeadDim});
  Tensor query_weight = whole_tensor(random, {kHeads * kHeadDim, kChannels});
  Tensor query_bias = whole_tensor(random, {kHeads * kHeadDim});
};

Attended content(const Numbers& in, const Deberta& scheme, double scale) {
  LayerPlan layer = bare_layer(kHeads, kHeadDim, kHeadDim);
  layer.score = {scheme};
  layer.softmax_scale = scale;
  const DebertaWeights weights{
      .table = in.table, .keys = {in.key_weight, in.key_bias}, .queries = {in.query_weight, in.query_bias}};
  return attended(layer,
                  {.q = in.q, .k = in.k, .v = in.k, .weights = {.score = {weights}}, .stage = ScoreStage::content});
}

// A projection of rows of the table, of head h.
Matrix projected(const Matrix& rows, const Tensor& weight, const Tensor& bias, std::int64_t h) {
  const auto first = bias.values.begin() + h * kHeadDim;
  return plus_row(product(rows, transposed(rows_of(matrix_of(weight), h * kHeadDim, kHeadDim))),
                  {first, first + kHeadDim});
}

using Index = std::function<std::int64_t(std::int64_t, std::int64_t)>;

// torch.gather(x, -1, index) of an index with as many rows and `columns` columns.
Matrix gather(const Matrix& x, std::int64_t columns, const Index& index) {
  Matrix out{.rows = x.rows, .columns = columns};
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) out(i, j) = x(i, index(i, j));
  }
  return out;
}

// make_log_bucket_position, with its way to keep near distances out of the logarithm.
std::int64_t log_bucket(std::int64_t relative_pos, std::int64_t bucket_size, std::int64_t max_position) {
  const std::int64_t mid = bucket_size / 2;
  const double sign = relative_pos > 0 ? 1 : relative_pos < 0 ? -1 : 0;
  const std::int64_t abs_pos = relative_pos < mid && relative_pos > -mid ? mid - 1 : std::abs(relative_pos);
  if (abs_pos <= mid) return relative_pos;
  const auto of_mid = static_cast<double>(mid);
  const double log_pos = std::ceil(std::log(static_cast<double>(abs_pos) / of_mid) /
                                   std::log(static_cast<double>(max_position - 1) / of_mid) * (of_mid - 1)) +
                         of_mid;
  return static_cast<std::int64_t>(log_pos * sign);
}

struct Parts {
  Matrix c2c;
  Matrix c2p;
  Matrix p2c;
  Matrix p2p;
};

// disentangled_attention_bias of one head, each part without its scale. relative_pos: bucket of query less key.
Parts disentangled(const Numbers& in, std::int64_t h, const Matrix& rel_embeddings, const Index& relative_pos) {
  const Matrix q = head_of(in.q, h);
  const Matrix k = head_of(in.k, h);
  const std::int64_t att_span = rel_embeddings.rows / 2;
  const Matrix pos_key = projected(rel_embeddings, in.key_weight, in.key_bias, h);
  const Matrix pos_query = projected(rel_embeddings, in.query_weight, in.query_bias, h);
  const Index c2p_pos = [&](std::int64_t i, std::int64_t j) {
    return std::clamp<std::int64_t>(relative_pos(i, j) + att_span, 0, att_span * 2 - 1);
  };
  const Index p2c_pos = [&](std::int64_t i, std::int64_t j) {
    return std::clamp<std::int64_t>(-relative_pos(i, j) + att_span, 0, att_span * 2 - 1);
  };
  // Microsoft's p2p_att: the second half of the position queries, a row for each query of the sequence.
  const Matrix p2p_att = product(rows_of(pos_query, att_span, std::min(q.rows, att_span)), transposed(pos_key));
  return {.c2c = product(q, transposed(k)),
          .c2p = gather(product(q, transposed(pos_key)), k.rows, c2p_pos),
          .p2c = transposed(gather(product(k, transposed(pos_query)), q.rows, p2c_pos)),
          .p2p = gather(p2p_att, k.rows, c2p_pos)};
}

void expect_scores(const Attended& got, std::int64_t h, const std::vector<const Matrix*>& parts) {
  for (std::int64_t i = 0; i < got.scores.shape[1]; ++i) {
    for (std::int64_t j = 0; j < got.scores.shape[2]; ++j) {
      double wanted = 0.0;
      for (const Matrix* part : parts) wanted += (*part)(i, j);
      EXPECT_EQ(got.score(h, i, j), wanted) << h << " " << i << " " << j;
    }
  }
}

// v1: of more rows of the table those for the distances that occur, att_span = min(tokens, max_relative_positions).
TEST(Deberta, IsVersion1) {
  constexpr std::int64_t kMax = 6;
  for (const std::int64_t tokens : {4, 9}) {
    const Numbers in(tokens, kMax);
    const std::int64_t att_span = std::min(tokens, kMax);
    const Matrix rel_embeddings = rows_of(matrix_of(in.table), kMax - att_span, 2 * att_span);
    const Attended got = content(in, {.max_distance = kMax}, 1.0);
    for (std::int64_t h = 0; h < kHeads; ++h) {
      const Parts wanted = disentangled(in, h, rel_embeddings, [](std::int64_t i, std::int64_t j) { return i - j; });
      expect_scores(got, h, {&wanted.c2c, &wanted.c2p, &wanted.p2c});
    }
  }
}

// 8 buckets to distance 12, 14 tokens: all buckets of both signs, and distances beyond the last.
TEST(Deberta, IsVersions2And3) {
  constexpr std::int64_t kBuckets = 8;
  constexpr std::int64_t kMax = 12;
  const Numbers in(14, kBuckets);
  const Index relative_pos = [](std::int64_t i, std::int64_t j) { return log_bucket(i - j, kBuckets, kMax); };
  for (const bool c2p : {true, false}) {
    for (const bool p2c : {true, false}) {
      const Attended got = content(
          in, {.buckets = kBuckets, .max_distance = kMax, .content_to_position = c2p, .position_to_content = p2c}, 1.0);
      for (std::int64_t h = 0; h < kHeads; ++h) {
        const Parts wanted = disentangled(in, h, matrix_of(in.table), relative_pos);
        std::vector<const Matrix*> parts{&wanted.c2c};
        if (c2p) parts.push_back(&wanted.c2p);
        if (p2c) parts.push_back(&wanted.p2c);
        expect_scores(got, h, parts);
      }
    }
  }
}

// Its table must have a row for each query: 8 tokens of a span of 8.
TEST(Deberta, TakesTheQuerysRowFromPositionToPosition) {
  constexpr std::int64_t kBuckets = 8;
  const Numbers in(kBuckets, kBuckets);
  const Attended got = content(in,
                               {.buckets = kBuckets,
                                .max_distance = 7,
                                .content_to_position = false,
                                .position_to_content = false,
                                .position_to_position = true},
                               1.0);
  for (std::int64_t h = 0; h < kHeads; ++h) {
    const Parts wanted = disentangled(in, h, matrix_of(in.table),
                                      [](std::int64_t i, std::int64_t j) { return log_bucket(i - j, 8, 7); });
    expect_scores(got, h, {&wanted.c2c, &wanted.p2p});
  }
}

// Each part is divided by sqrt(d scale_factor), scale_factor = 1 + the number of types: the layer's scale, 1 / sqrt(4 *
// 3), is on all of them.
TEST(Deberta, SharesTheScaleAmongItsTerms) {
  const Numbers in(5, 3);
  const double scale = std::sqrt(kHeadDim * 3.0);
  const Attended got = content(in, {.max_distance = 3}, 1 / scale);
  for (std::int64_t h = 0; h < kHeads; ++h) {
    const Parts wanted = disentangled(in, h, matrix_of(in.table), [](std::int64_t i, std::int64_t j) { return i - j; });
    for (std::int64_t i = 0; i < 5; ++i) {
      for (std::int64_t j = 0; j < 5; ++j) {
        const double size = std::abs(wanted.c2c(i, j)) + std::abs(wanted.c2p(i, j)) + std::abs(wanted.p2c(i, j));
        EXPECT_NEAR(got.score(h, i, j), wanted.c2c(i, j) / scale + wanted.c2p(i, j) / scale + wanted.p2c(i, j) / scale,
                    same_score(size / scale, 3))  // a quotient and two sums; here a reciprocal and a product
            << h << " " << i << " " << j;
      }
    }
  }
}

// share_att_key: the table goes through the layer's own projections, which are then the weights that are given. One
// head, one channel, span 2: rows 1, 2, 3, 4 for the distances -2, -1, 0, 1 and beyond. Keys 10 P + 1, queries 100 P
// + 3.
TEST(Deberta, ByHand) {
  const Tensor table = tensor_of({4, 1}, {1, 2, 3, 4});
  const Tensor key_weight = tensor_of({1, 1}, {10});
  const Tensor key_bias = tensor_of({1}, {1});
  const Tensor query_weight = tensor_of({1, 1}, {100});
  const Tensor query_bias = tensor_of({1}, {3});
  const DebertaWeights weights{.table = table, .keys = {key_weight, key_bias}, .queries = {query_weight, query_bias}};
  const Tensor q = tensor_of({3, 1, 1}, {1, 1, 1});
  const Tensor k = tensor_of({3, 1, 1}, {2, 2, 2});
  const Attended got =
      attended(layer_with(Deberta{.max_distance = 2, .shared_projection = true}),
               {.q = q, .k = k, .v = k, .weights = {.score = {weights}}, .stage = ScoreStage::content});
  EXPECT_EQ(got.score(0, 1, 1), 2 + 31 + 2 * 303);
  EXPECT_EQ(got.score(0, 2, 1), 2 + 41 + 2 * 403);  // a step into the past
  EXPECT_EQ(got.score(0, 2, 0), 2 + 41 + 2 * 403);  // two: the last row
  EXPECT_EQ(got.score(0, 1, 2), 2 + 21 + 2 * 203);  // into the future
  EXPECT_EQ(got.score(0, 0, 2), 2 + 11 + 2 * 103);
}

}  // namespace
}  // namespace posenc::test::deberta_test
