// Transformer-XL's terms, arXiv 1901.02860: as the program of the paper computes them, with its relative shift; as
// Conformers (ESPnet, Parakeet) and Gemma's audio encoder do; and by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attend/attending.h"
#include "attend/schemes/sine_rows.h"

namespace posenc::test::transformer_xl_test {
namespace {

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kHeadDim = 3;
constexpr std::int64_t kChannels = 8;  // of the sinusoids
constexpr std::int64_t kQueries = 5;
constexpr std::int64_t kKeys = 9;  // 4 of the memory
constexpr double kScale = 0.5;

// Whole numbers: what is added to the products with sines is exact.
struct Numbers {
  Random random{1901};
  Tensor q = whole_tensor(random, {kQueries, kHeads, kHeadDim});
  Tensor k = whole_tensor(random, {kKeys, kHeads, kHeadDim});
  Tensor w = whole_tensor(random, {kHeads * kHeadDim, kChannels});
  Tensor u = whole_tensor(random, {kHeads, kHeadDim});
  Tensor v = whole_tensor(random, {kHeads, kHeadDim});
};

// x_ij scaled, of the layer with that term alone.
Attended scores(const Numbers& in, const TransformerXl& scheme) {
  LayerPlan layer = bare_layer(kHeads, kHeadDim, kHeadDim);
  layer.score = {scheme};
  layer.softmax_scale = kScale;
  TransformerXlWeights weights{.projection = in.w};
  if (scheme.content_bias) weights.content_bias = in.u;
  if (scheme.position_bias) weights.position_bias = in.v;
  return attended(layer,
                  {.q = in.q, .k = in.k, .v = in.k, .weights = {.score = {weights}}, .stage = ScoreStage::content});
}

double at(const Tensor& x, std::int64_t row, std::int64_t column) {
  return x.values[static_cast<std::size_t>(row * x.shape[1] + column)];
}

double magnitude(const Matrix& a, std::int64_t i, const Matrix& b, std::int64_t j) {
  double out = 0.0;
  for (std::int64_t c = 0; c < a.columns; ++c) out += std::abs(a(i, c) * b(j, c));
  return out;
}

// The program's terms of one head.
struct Terms {
  Matrix ac;       // (q + u) k
  Matrix bd;       // (q + v) r, a column for each row of r
  Matrix asked;    // q + v
  Matrix content;  // q + u
};

Terms terms(const Numbers& in, const TransformerXl& scheme, std::int64_t h, const Matrix& r) {
  const Matrix rw_head_q = plus_row(head_of(in.q, h), bias_of(in.u, h, scheme.content_bias));
  const Matrix rr_head_q = plus_row(head_of(in.q, h), bias_of(in.v, h, scheme.position_bias));
  const Matrix r_head_k = product(r, projection_of(in.w, h, kHeadDim));
  return {.ac = product(rw_head_q, transposed(head_of(in.k, h))),
          .bd = product(rr_head_q, transposed(r_head_k)),
          .asked = rr_head_q,
          .content = rw_head_q};
}

// RelMultiHeadAttn._rel_shift: a column of zeros before the first, the same numbers in rows that are one shorter, the
// first row dropped.
Matrix rel_shift(const Matrix& x) {
  Matrix padded{.rows = x.rows, .columns = x.columns + 1};
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.columns; ++j) padded(i, j + 1) = x(i, j);
  }
  return reshaped(rows_of(reshaped(padded, x.columns + 1, x.rows), 1, x.columns), x.rows, x.columns);
}

// RelPartialLearnableMultiHeadAttn: rows for klen - 1 down to 0, clamped from above; what stands right of the last
// visible key after the shift is left over from other rows.
TEST(TransformerXl, IsThePapersProgram) {
  const Numbers in;
  for (const std::int64_t clamp_len : {-1, 3}) {
    std::vector<double> pos_seq;
    for (std::int64_t pos = kKeys - 1; pos >= 0; --pos) {
      pos_seq.push_back(static_cast<double>(clamp_len > 0 ? std::min(pos, clamp_len) : pos));
    }
    for (const bool has_u : {true, false}) {
      for (const bool has_v : {true, false}) {
        const TransformerXl scheme{.clamp_length = clamp_len, .content_bias = has_u, .position_bias = has_v};
        const Attended got = scores(in, scheme);
        for (std::int64_t h = 0; h < kHeads; ++h) {
          const Terms of_head = terms(in, scheme, h, sine_rows(pos_seq, kChannels));
          const Matrix bd = rel_shift(of_head.bd);
          const Matrix w = projection_of(in.w, h, kHeadDim);
          for (std::int64_t i = 0; i < kQueries; ++i) {
            for (std::int64_t j = 0; j <= kKeys - kQueries + i; ++j) {
              const double wanted = (of_head.ac(i, j) + bd(i, j)) * kScale;
              const double content = magnitude(of_head.content, i, head_of(in.k, h), j);
              EXPECT_NEAR(got.score(h, i, j), wanted,
                          sine_rows_bound(rows_of(of_head.asked, i, 1), w, kKeys - kQueries + i - j, content, kScale))
                  << h << " " << i << " " << j;
            }
          }
        }
      }
    }
  }
}

// ESPnet's RelPositionMultiHeadedAttention, of as many keys as queries: rows in turn for n - 1 down to -(n - 1), the
// shift along the keys, of which the first n stay.
TEST(TransformerXl, IsTheConformers) {
  Numbers in;
  in.k = whole_tensor(in.random, {kQueries, kHeads, kHeadDim});
  std::vector<double> positions;
  for (std::int64_t pos = kQueries - 1; pos > -kQueries; --pos) positions.push_back(static_cast<double>(pos));
  const TransformerXl scheme{.sinusoid = SinusoidConvention::paper};
  const Attended got = scores(in, scheme);
  for (std::int64_t h = 0; h < kHeads; ++h) {
    const Terms of_head = terms(in, scheme, h, sine_rows(positions, kChannels, true));
    const Matrix bd = rel_shift(of_head.bd);
    const Matrix w = projection_of(in.w, h, kHeadDim);
    for (std::int64_t i = 0; i < kQueries; ++i) {
      for (std::int64_t j = 0; j < kQueries; ++j) {
        const double content = magnitude(of_head.content, i, head_of(in.k, h), j);
        EXPECT_NEAR(got.score(h, i, j), (of_head.ac(i, j) + bd(i, j)) * kScale,
                    sine_rows_bound(rows_of(of_head.asked, i, 1), w, i - j, content, kScale, true))
            << h << " " << i << " " << j;
      }
    }
  }
}

// Gemma's audio encoder: rows for `past` down to -`future` only. A block of queries sees a context that begins `past`
// keys before it; the shift pads rows to one more than the context and cuts them anew, so that keys without a row meet
// the padding.
TEST(TransformerXl, HasNothingForDistancesWithoutARow) {
  constexpr std::int64_t kPast = 2;
  constexpr std::int64_t kFuture = 1;
  constexpr std::int64_t kContext = kQueries + kPast;
  Numbers in;
  in.k = whole_tensor(in.random, {kContext, kHeads, kHeadDim});
  const TransformerXl scheme{
      .content_bias = false, .position_bias = false, .distances = Distances{.low = -kFuture, .high = kPast}};
  LayerPlan layer = bare_layer(kHeads, kHeadDim, kHeadDim);
  layer.score = {scheme};
  const std::vector<std::int64_t> queries{0, 1, 2, 3, 4};
  const std::vector<std::int64_t> keys{-2, -1, 0, 1, 2, 3, 4};
  const Attended got = attended(layer, {.q = in.q,
                                        .k = in.k,
                                        .v = in.k,
                                        .weights = {.score = {TransformerXlWeights{.projection = in.w}}},
                                        .inputs = {.q_positions = queries, .k_positions = keys},
                                        .stage = ScoreStage::content});
  std::vector<double> pos_indices;
  for (std::int64_t pos = kPast; pos >= -kFuture; --pos) pos_indices.push_back(static_cast<double>(pos));
  for (std::int64_t h = 0; h < kHeads; ++h) {
    const Terms of_head = terms(in, scheme, h, sine_rows(pos_indices, kChannels));
    Matrix padded{.rows = kQueries, .columns = kContext + 1};
    for (std::int64_t i = 0; i < kQueries; ++i) {
      for (std::int64_t f = 0; f < of_head.bd.columns; ++f) padded(i, f) = of_head.bd(i, f);
    }
    padded.values.resize(static_cast<std::size_t>(kQueries * kContext));
    const Matrix bd = reshaped(padded, kQueries, kContext);
    const Matrix w = projection_of(in.w, h, kHeadDim);
    for (std::int64_t i = 0; i < kQueries; ++i) {
      for (std::int64_t j = 0; j < kContext; ++j) {
        const bool has_row = j >= i && j <= i + kPast + kFuture;
        EXPECT_EQ(bd(i, j) != 0.0, has_row) << i << " " << j;
        const double content = magnitude(of_head.content, i, head_of(in.k, h), j);
        EXPECT_NEAR(got.score(h, i, j), of_head.ac(i, j) + bd(i, j),
                    sine_rows_bound(rows_of(of_head.asked, i, 1), w, i + kPast - j, content, 1))
            << h << " " << i << " " << j;
      }
    }
  }
}

// Two channels, one head: r(d) = (sin d, cos d). W = (1, 0) shows the sine, an odd function: a key of the past has a
// positive distance. q = 2, v = 1, u = 5, k = 3: 6 + 3 sin d + 15.
TEST(TransformerXl, CountsFromKeyToQuery) {
  const Tensor q = tensor_of({3, 1, 1}, {2, 2, 2});
  const Tensor k = tensor_of({3, 1, 1}, {3, 3, 3});
  const Tensor w = tensor_of({1, 2}, {1, 0});
  const Tensor u = tensor_of({1, 1}, {5});
  const Tensor v = tensor_of({1, 1}, {1});
  const Attended got = attended(
      layer_with(TransformerXl{}),
      {.q = q, .k = k, .v = k, .weights = {.score = {TransformerXlWeights{w, u, v}}}, .stage = ScoreStage::content});
  EXPECT_DOUBLE_EQ(got.score(0, 2, 0), 21 + 3 * std::sin(2.0));
  EXPECT_DOUBLE_EQ(got.score(0, 2, 1), 21 + 3 * std::sin(1.0));
  EXPECT_DOUBLE_EQ(got.score(0, 1, 1), 21);
  EXPECT_DOUBLE_EQ(got.score(0, 0, 1), 21 - 3 * std::sin(1.0));
}

// (q + v) . W R[i - j] + (q + u) . k by hand, of a table of distances -1 to 3: nothing of W where there is no row, and
// with the distances that clamping leaves, -2 to 2, the last row for all beyond. All numbers are whole, so sums are
// exact.
TEST(TransformerXl, TakesLearnedRowsInPlaceOfSinusoids) {
  Numbers in;
  const Tensor rows = whole_tensor(in.random, {5, kChannels});
  for (const bool clamps : {false, true}) {
    TransformerXl scheme;
    if (clamps) scheme.clamp_length = 2;
    if (!clamps) scheme.distances = Distances{-1, 3};
    LayerPlan layer = bare_layer(kHeads, kHeadDim, kHeadDim);
    layer.score = {scheme};
    layer.softmax_scale = kScale;
    const TransformerXlWeights weights{.projection = in.w, .content_bias = in.u, .position_bias = in.v, .table = rows};
    const Attended got = attended(
        layer, {.q = in.q, .k = in.k, .v = in.k, .weights = {.score = {weights}}, .stage = ScoreStage::content});
    for (std::int64_t h = 0; h < kHeads; ++h) {
      const Matrix q = head_of(in.q, h);
      const Matrix k = head_of(in.k, h);
      const Matrix w = projection_of(in.w, h, kHeadDim);
      for (std::int64_t i = 0; i < kQueries; ++i) {
        for (std::int64_t j = 0; j < kKeys; ++j) {
          const std::int64_t d = kKeys - kQueries + i - j;
          const std::int64_t row = clamps ? std::clamp<std::int64_t>(d, -2, 2) + 2 : d + 1;
          double sum = 0.0;
          for (std::int64_t c = 0; c < kHeadDim; ++c) {
            sum += (q(i, c) + at(in.u, h, c)) * k(j, c);
            for (std::int64_t n = 0; n < kChannels && row >= 0 && row < 5; ++n) {
              sum += (q(i, c) + at(in.v, h, c)) * at(in.w, h * kHeadDim + c, n) * at(rows, row, n);
            }
          }
          EXPECT_EQ(got.score(h, i, j), kScale * sum) << h << " " << i << " " << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace posenc::test::transformer_xl_test
