// ALiBi, arXiv 2108.12409, by hand and against MPT's way of making its slopes.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attend/attending.h"
#include "posenc/scores.h"

namespace posenc::test::alibi_test {
namespace {

// MPT: 2^(-max k / n) for k up to the next power of two n; where that is not the number of heads, every other one from
// the second on, then the rest, cut.
std::vector<double> mpt_slopes(std::int64_t heads, double max_bias) {
  std::int64_t n = 1;
  while (n < heads) n *= 2;
  std::vector<double> all;
  for (std::int64_t k = 1; k <= n; ++k) {
    all.push_back(1 / std::pow(2.0, static_cast<double>(k) * (max_bias / static_cast<double>(n))));
  }
  if (n == heads) return all;
  std::vector<double> out;
  for (std::size_t k = 1; k < all.size(); k += 2) out.push_back(all[k]);
  for (std::size_t k = 0; k < all.size(); k += 2) out.push_back(all[k]);
  out.resize(static_cast<std::size_t>(heads));
  return out;
}

TEST(Alibi, HasTheSlopesOfMpt) {
  for (const double max_bias : {8.0, 6.0, 16.0}) {
    for (std::int64_t heads = 1; heads <= 20; ++heads) {
      const std::vector<double> slopes = alibi_slopes({.heads = heads, .max_bias = max_bias});
      const std::vector<double> wanted = mpt_slopes(heads, max_bias);
      ASSERT_EQ(slopes.size(), wanted.size());
      for (std::size_t h = 0; h < slopes.size(); ++h) {
        EXPECT_DOUBLE_EQ(slopes[h], wanted[h]) << h << " of " << heads << " heads, max_bias " << max_bias;
      }
    }
  }
}

// 8 heads: 1/2 to 1/256. 6 heads: those of 4 (2^-2, 2^-4, 2^-6, 2^-8), then 2^-1 and 2^-3 of those of 8.
TEST(Alibi, HasSlopesThatHalve) {
  EXPECT_EQ(alibi_slopes({.heads = 8}),
            (std::vector<double>{1.0 / 2, 1.0 / 4, 1.0 / 8, 1.0 / 16, 1.0 / 32, 1.0 / 64, 1.0 / 128, 1.0 / 256}));
  EXPECT_EQ(alibi_slopes({.heads = 6}),
            (std::vector<double>{1.0 / 4, 1.0 / 16, 1.0 / 64, 1.0 / 256, 1.0 / 2, 1.0 / 8}));
}

// OLMo's alibi_attention_bias: 2^(-8 h / heads), h from 1. 6 heads: 2^-(4/3), 2^-(8/3), 2^-4, ...
TEST(Alibi, HasOneLadderInOlmo) {
  const std::vector<double> slopes = alibi_slopes({.heads = 6, .geometric_slopes = true});
  ASSERT_EQ(slopes.size(), 6U);
  // exp2 rounds its argument first; math.Elementary has the slopes' own last bit.
  for (std::size_t h = 0; h < 6; ++h) EXPECT_DOUBLE_EQ(slopes[h], std::exp2(-8.0 * static_cast<double>(h + 1) / 6.0));
  EXPECT_EQ(slopes[2], 1.0 / 16);
  EXPECT_EQ(slopes[5], 1.0 / 256);
  EXPECT_EQ(alibi_slopes({.heads = 8, .geometric_slopes = true}), alibi_slopes({.heads = 8}));
}

// Two heads: slopes 1/16 and 1/256. Three queries and keys, a row a query.
TEST(Alibi, FallsWithTheDistance) {
  const Attended got = biases(layer_with(Alibi{.heads = 2}, 2), 3, 3);
  constexpr double kFirst[] = {0, 1, 2, -1, 0, 1, -2, -1, 0};  // -(i - j)
  for (std::size_t cell = 0; cell < 9; ++cell) {
    EXPECT_EQ(got.scores.values[cell], kFirst[cell] / 16);
    EXPECT_EQ(got.scores.values[9 + cell], kFirst[cell] / 256);
  }
}

TEST(Alibi, FallsOnBothSidesInEncoders) {
  const Attended got = biases(layer_with(Alibi{.heads = 1, .symmetric = true}), 3, 3);  // slope 1/256
  constexpr double kDistances[] = {0, 1, 2, 1, 0, 1, 2, 1, 0};
  for (std::size_t cell = 0; cell < 9; ++cell) EXPECT_EQ(got.scores.values[cell], -kDistances[cell] / 256);
}

TEST(Alibi, StandsInColumnsInBloom) {
  const Attended got = biases(layer_with(Alibi{.heads = 1, .form = AlibiForm::column}), 2, 3);
  EXPECT_EQ(got.scores.values, (std::vector<double>{0, 1.0 / 256, 2.0 / 256, 0, 1.0 / 256, 2.0 / 256}));
}

// Of 12 heads the ninth has 2^-(1/2) = 0.7071, in bfloat16 0.70703125 = 181/256. Times 3: 543/256 = 2.12109375, whose
// neighbours in bfloat16 are 1/64 apart: 2.125. The key at 257 stands at 256: of eight bits, 257 is a tie.
TEST(Alibi, RoundsSlopeAndProductInFalcon) {
  LayerPlan layer = layer_with(Alibi{.heads = 12, .form = AlibiForm::column_bfloat16}, 12);
  const std::vector<std::int64_t> keys{3, 257};
  const std::vector<std::int64_t> queries{257};
  const Attended got = biases(layer, 1, 2, {}, {.q_positions = queries, .k_positions = keys});
  EXPECT_EQ(got.score(8, 0, 0), 2.125);
  EXPECT_EQ(got.score(8, 0, 1), 181.0);
}

// Falcon: (q.k + alibi) times the scale. Others: q.k times the scale, and then alibi.
TEST(Alibi, IsScaledWhereTheSchemeSaysSo) {
  for (const bool scaled : {false, true}) {
    LayerPlan layer = layer_with(Alibi{.heads = 1, .scaled = scaled});
    layer.softmax_scale = 0.5;
    EXPECT_EQ(biases(layer, 2, 2).score(0, 1, 0), scaled ? -1.0 / 512 : -1.0 / 256);
  }
}

}  // namespace
}  // namespace posenc::test::alibi_test
