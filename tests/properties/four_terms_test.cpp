// (x_i + p_i) W_Q W_K^T (x_j + p_j)^T, multiplied out.
#include <gtest/gtest.h>

#include <cmath>

#include "posenc/properties.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::test::four_terms_test {
namespace {

constexpr auto kPlaces = static_cast<double>(kTrainedPlaces);

// Tokens of variance 1, W of rows of length 1: every score of two tokens has variance 1. Rows of a learned table are
// as large as tokens, so all four terms are one. The mean square strays as that of the fewest numbers drawn, the
// entries of the two projections and of the embeddings, does; four terms share them.
TEST(FourTerms, OfALearnedTableAreEqual) {
  const FourTerms found = four_terms("learned");
  for (const double size : {found.token_token, found.token_position, found.position_token, found.position_position}) {
    EXPECT_NEAR(size, 1.0, strayed_spread(2 * 32));
  }
}

// p is as large as place, in every channel: squares of the terms with it are as those of the places, once or twice.
TEST(FourTerms, OfIntegersDrownTheTokens) {
  const FourTerms found = four_terms("integer");
  EXPECT_LT(found.token_token, found.token_position);
  EXPECT_LT(found.token_token, found.position_token);
  EXPECT_LT(std::max(found.token_position, found.position_token), found.position_position);
  EXPECT_GT(found.position_position, 100 * found.token_token);
  // i / n in place of i: each factor p is n times smaller.
  const FourTerms normalised = four_terms("integer-normalised");
  EXPECT_DOUBLE_EQ(normalised.token_token, found.token_token);
  EXPECT_DOUBLE_EQ(normalised.token_position * kPlaces, found.token_position);
  EXPECT_DOUBLE_EQ(normalised.position_token * kPlaces, found.position_token);
  EXPECT_DOUBLE_EQ(normalised.position_position * kPlaces * kPlaces, found.position_position);
}

// The same tokens and projections for all.
TEST(FourTerms, TokensAreTheSame) { EXPECT_EQ(four_terms("binary").token_token, four_terms("sinusoidal").token_token); }

TEST(FourTerms, OfTheInputStageOnly) {
  EXPECT_ERROR(four_terms("alibi"), "[four_terms] scheme must be of the input stage but is 'alibi'");
}

}  // namespace
}  // namespace posenc::test::four_terms_test
