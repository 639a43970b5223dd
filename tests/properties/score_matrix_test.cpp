// Scores by places alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "posenc/properties.h"
#include "posenc/scores.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::test::score_matrix_test {
namespace {

double at(const ScoreMatrix& matrix, std::int64_t h, std::int64_t i, std::int64_t j) {
  return matrix.values[static_cast<std::size_t>((h * matrix.places + i) * matrix.places + j)];
}

// Without positions one token everywhere has one score.
TEST(ScoreMatrix, OfNoPositionsIsOneNumberPerHead) {
  const ScoreMatrix matrix = score_matrix("nope", 12);
  EXPECT_EQ(matrix.places, 12);
  EXPECT_EQ(std::ssize(matrix.values), matrix.heads * 12 * 12);
  for (std::int64_t h = 0; h < matrix.heads; ++h) {
    for (std::int64_t n = 0; n < 12 * 12; ++n) EXPECT_EQ(at(matrix, h, n / 12, n % 12), at(matrix, h, 0, 0));
  }
}

// What a bias adds to that is the bias.
TEST(ScoreMatrix, OfAlibiIsThatAndItsBias) {
  const ScoreMatrix plain = score_matrix("nope", 20);
  const ScoreMatrix matrix = score_matrix("alibi", 20);
  const Alibi scheme{.heads = matrix.heads};
  for (std::int64_t h = 0; h < matrix.heads; ++h) {
    const double slope = alibi_slopes(scheme)[static_cast<std::size_t>(h)];
    for (std::int64_t n = 0; n < 20 * 20; ++n) {
      const auto i = static_cast<double>(n / 20);
      const auto j = static_cast<double>(n % 20);
      EXPECT_EQ(at(matrix, h, n / 20, n % 20), at(plain, h, 0, 0) + alibi_bias(scheme, slope, i, j));
    }
  }
}

TEST(ScoreMatrix, AMaskHides) {
  const ScoreMatrix matrix = score_matrix("rope", 5, MaskKind::causal);
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) EXPECT_EQ(std::isfinite(at(matrix, 1, i, j)), j <= i);
  }
}

TEST(ScoreMatrix, OfEveryScheme) {
  for (const MeasuredScheme& scheme : measured_schemes()) {
    SCOPED_TRACE(scheme.name);
    for (const double score : score_matrix(scheme.name, 24).values) ASSERT_TRUE(std::isfinite(score));
  }
}

TEST(ScoreMatrix, WhatCannotBeAsked) {
  EXPECT_ERROR(score_matrix("rope", 0), "[score_matrix] places must be at least 1 but is 0");
  EXPECT_ERROR(score_matrix("", 8), "[score_matrix] scheme must be one of measured_schemes() but is ''");
}

}  // namespace
}  // namespace posenc::test::score_matrix_test
