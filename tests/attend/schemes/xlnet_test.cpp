// XLNet's terms, arXiv 1906.08237, as its program computes them (transformers' modeling_xlnet): rows for all distances
// from klen down to 1 - qlen, a shift by a query's row, segments by their difference, half of a batch read backwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attend/attending.h"
#include "attend/schemes/sine_rows.h"

namespace posenc::test::xlnet_test {
namespace {

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kHeadDim = 3;
constexpr std::int64_t kChannels = 8;  // of the sinusoids
constexpr std::int64_t kQueries = 4;
constexpr std::int64_t kKeys = 7;  // 3 of the memory
constexpr std::int64_t kBatch = 4;
constexpr double kScale = 0.5;

// Whole numbers: what is added to the products with sines is exact.
struct Numbers {
  Random random{1906};
  Tensor q = whole_tensor(random, {kBatch, kHeads, kQueries, kHeadDim});
  Tensor k = whole_tensor(random, {kBatch, kHeads, kKeys, kHeadDim});
  Tensor r = whole_tensor(random, {kHeads * kHeadDim, kChannels});
  Tensor r_w_bias = whole_tensor(random, {kHeads, kHeadDim});
  Tensor r_r_bias = whole_tensor(random, {kHeads, kHeadDim});
  Tensor r_s_bias = whole_tensor(random, {kHeads, kHeadDim});
  Tensor seg_embed = whole_tensor(random, {2, kHeads, kHeadDim});
  std::vector<std::int32_t> q_segments{0, 0, 1, 2, 1, 1, 0, 0, 0, 1, 0, 1, 2, 2, 2, 0};
  std::vector<std::int32_t> k_segments{0, 0, 0, 0, 0, 1, 2, 1, 0, 1, 1, 1, 0, 0,
                                       0, 0, 1, 0, 1, 0, 1, 2, 1, 0, 2, 2, 2, 0};

  XlNetWeights weights() const {
    return {.positions = {.projection = r, .content_bias = r_w_bias, .position_bias = r_r_bias},
            .segment_bias = r_s_bias,
            .segments = seg_embed};
  }
};

// Of sequence b and head h, [tokens, channels].
Matrix part(const Tensor& x, std::int64_t b, std::int64_t h) {
  const std::int64_t rows = x.shape[2];
  const Matrix all{.rows = kBatch * kHeads * rows, .columns = x.shape[3], .values = x.values};
  return rows_of(all, (b * kHeads + h) * rows, rows);
}

// relative_positional_encoding: klen down to one above -qlen, or the same with the other sign for what is read
// backwards; clamped.
std::vector<double> pos_seq(std::int64_t clamp_len, bool is_backward) {
  std::vector<double> out;
  for (std::int64_t pos = kKeys; pos > -kQueries; --pos) {
    const std::int64_t signed_pos = is_backward ? -pos : pos;
    out.push_back(static_cast<double>(clamp_len > 0 ? std::clamp(signed_pos, -clamp_len, clamp_len) : signed_pos));
  }
  return out;
}

// rel_shift_bnij: the same numbers with the axes' sizes exchanged, without the first row, exchanged again; of which the
// first klen columns stay.
Matrix rel_shift_bnij(const Matrix& x, std::int64_t klen) {
  const Matrix dropped = rows_of(reshaped(x, x.columns, x.rows), 1, x.columns - 1);
  const Matrix shifted = reshaped(dropped, x.rows, x.columns - 1);
  Matrix out{.rows = x.rows, .columns = klen};
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < klen; ++j) out(i, j) = shifted(i, j);
  }
  return out;
}

// What is asked of a row of sines, and the magnitudes of all else that is added.
struct HeadScores {
  Matrix scores;     // rel_attn_core's attn_score
  Matrix asked;      // q + r_r_bias
  Matrix magnitude;  // of ac and ef
};

HeadScores rel_attn_core(const Numbers& in, std::int64_t b, std::int64_t h, const Matrix& pos_emb) {
  const Matrix q = part(in.q, b, h);
  const Matrix k = part(in.k, b, h);
  const Matrix k_head_r = product(pos_emb, projection_of(in.r, h, kHeadDim));
  const Matrix rw = plus_row(q, bias_of(in.r_w_bias, h));
  const Matrix rr = plus_row(q, bias_of(in.r_r_bias, h));
  const Matrix rs = plus_row(q, bias_of(in.r_s_bias, h));
  const Matrix ac = product(rw, transposed(k));
  const Matrix bd = rel_shift_bnij(product(rr, transposed(k_head_r)), kKeys);
  // seg_mat is 1 where segments differ; one_hot of it picks one of the two rows of seg_embed.
  Matrix embeddings{.rows = 2, .columns = kHeadDim};
  for (std::int64_t s = 0; s < 2; ++s) {
    for (std::int64_t c = 0; c < kHeadDim; ++c) {
      embeddings(s, c) = in.seg_embed.values[static_cast<std::size_t>((s * kHeads + h) * kHeadDim + c)];
    }
  }
  const Matrix ef = product(rs, transposed(embeddings));
  HeadScores out{
      .scores = {.rows = kQueries, .columns = kKeys}, .asked = rr, .magnitude = {.rows = kQueries, .columns = kKeys}};
  for (std::int64_t i = 0; i < kQueries; ++i) {
    for (std::int64_t j = 0; j < kKeys; ++j) {
      const bool differ = in.q_segments[static_cast<std::size_t>(b * kQueries + i)] !=
                          in.k_segments[static_cast<std::size_t>(b * kKeys + j)];
      out.scores(i, j) = (ac(i, j) + bd(i, j) + ef(i, differ ? 1 : 0)) * kScale;
      for (std::int64_t c = 0; c < kHeadDim; ++c) {
        out.magnitude(i, j) += std::abs(rw(i, c) * k(j, c)) + std::abs(rs(i, c) * embeddings(differ ? 1 : 0, c));
      }
    }
  }
  return out;
}

TEST(XlNet, IsRelAttnCore) {
  const Numbers in;
  for (const std::int64_t clamp_len : {-1, 3}) {
    for (const bool bi_data : {false, true}) {
      LayerPlan layer = bare_layer(kHeads, kHeadDim, kHeadDim);
      layer.score = {XlNet{.clamp_length = clamp_len, .bidirectional_data = bi_data}};
      layer.softmax_scale = kScale;
      const Attended got = attended(layer, {.q = in.q,
                                            .k = in.k,
                                            .v = in.k,
                                            .weights = {.score = {in.weights()}},
                                            .inputs = {.q_segments = in.q_segments, .k_segments = in.k_segments},
                                            .stage = ScoreStage::content});
      auto score = got.scores.values.begin();
      for (std::int64_t b = 0; b < kBatch; ++b) {
        const Matrix pos_emb = sine_rows(pos_seq(clamp_len, bi_data && b >= kBatch / 2), kChannels);
        for (std::int64_t h = 0; h < kHeads; ++h) {
          const HeadScores wanted = rel_attn_core(in, b, h, pos_emb);
          for (std::int64_t i = 0; i < kQueries; ++i) {
            for (std::int64_t j = 0; j < kKeys; ++j) {
              EXPECT_NEAR(*score++, wanted.scores(i, j),
                          sine_rows_bound(rows_of(wanted.asked, i, 1), projection_of(in.r, h, kHeadDim),
                                          kKeys - kQueries + i - j, wanted.magnitude(i, j), kScale))
                  << clamp_len << bi_data << ": " << b << " " << h << " " << i << " " << j;
            }
          }
        }
      }
    }
  }
}

// q = 2, s = 1: keys of the query's own segment have 3 times the first row, 3 * 10, the others 3 * 100.
TEST(XlNet, AddsTheFirstRowForTheSameSegment) {
  const Tensor q = tensor_of({2, 1, 1}, {2, 2});
  const Tensor none = zeros({2, 1, 1});
  const Tensor zero = zeros({1, 1});
  const Tensor nothing = zeros({1, 2});
  const Tensor s = tensor_of({1, 1}, {1});
  const Tensor segments = tensor_of({2, 1, 1}, {10, 100});
  const std::vector<std::int32_t> of_tokens{4, 9};
  const XlNetWeights weights{.positions = {nothing, zero, zero}, .segment_bias = s, .segments = segments};
  const Attended got = attended(layer_with(XlNet{}), {.q = q,
                                                      .k = none,
                                                      .v = none,
                                                      .weights = {.score = {weights}},
                                                      .inputs = {.q_segments = of_tokens, .k_segments = of_tokens},
                                                      .stage = ScoreStage::content});
  EXPECT_EQ(got.scores.values, (std::vector<double>{30, 300, 300, 30}));
}

}  // namespace
}  // namespace posenc::test::xlnet_test
