// Scales of queries, worked by hand at their steps.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "posenc/scores.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::query_scale_test {
namespace {

TEST(QueryScale, NoneIsOne) {
  EXPECT_EQ(query_scale({}, 0), 1.0);
  EXPECT_EQ(query_scale({}, INT64_MAX), 1.0);
}

// Positions 0 to 8190 are the first 8191 tokens: floor(8191 / 8192) = 0. ln 2 = 0.693147, ln 3 = 1.098612.
TEST(QueryScale, Llama4StepsAtItsFloorScale) {
  const QueryScale scale = Llama4Temperature{.attn_scale = 0.1, .floor_scale = 8192};
  EXPECT_EQ(query_scale(scale, 0), 1.0);
  EXPECT_EQ(query_scale(scale, 8190), 1.0);
  EXPECT_NEAR(query_scale(scale, 8191), 1.0693147180559945, 2 * test::kFewSteps);
  EXPECT_EQ(query_scale(scale, 16382), query_scale(scale, 8191));
  EXPECT_NEAR(query_scale(scale, 16383), 1.1098612288668110, 2 * test::kFewSteps);
  // 2^23 = 1024 * 8192 tokens: 1 + 0.1 ln 1025, ln 1025 = 6.932447891572509
  EXPECT_NEAR(query_scale(scale, 8388607), 1.6932447891572509, 2 * test::kFewSteps);
}

// Counted from 0: the first step is a token later than Llama 4's.
TEST(QueryScale, MinistralStepsAtTheOriginalLength) {
  const QueryScale scale = MinistralTemperature{.beta = 0.1, .original_max_position_embeddings = 16384};
  EXPECT_EQ(query_scale(scale, 0), 1.0);
  EXPECT_EQ(query_scale(scale, 16383), 1.0);
  EXPECT_NEAR(query_scale(scale, 16384), 1.0693147180559945, 2 * test::kFewSteps);
  EXPECT_NEAR(query_scale(scale, 3 * 16384 - 1), 1.1098612288668110, 2 * test::kFewSteps);
}

// log_L(n) of n = position + 1 tokens: 1 up to L; 2 at L^2.
TEST(QueryScale, LogNGrowsBeyondTheTrainedLength) {
  const QueryScale scale = LogNScale{.seq_length = 2048};
  EXPECT_EQ(query_scale(scale, 0), 1.0);
  EXPECT_EQ(query_scale(scale, 2047), 1.0);
  EXPECT_GT(query_scale(scale, 2048), 1.0);
  EXPECT_NEAR(query_scale(scale, 4095), 12.0 / 11.0, 2 * test::kFewSteps);
  EXPECT_NEAR(query_scale(scale, 2048 * 2048 - 1), 2.0, 2 * test::kFewSteps);
}

// (1 + (i + 1) / 2048)^0.1: 2^0.1 at 2047, 1025^0.1 at 2^21 - 1.
TEST(QueryScale, BeamGrowsFromTheFirstToken) {
  const QueryScale scale = BeamTemperature{};
  EXPECT_NEAR(query_scale(scale, 0), std::pow(2049.0 / 2048.0, 0.1), 2 * test::kFewSteps);
  EXPECT_NEAR(query_scale(scale, 2047), 1.0717734625362931, 2 * test::kFewSteps);
  EXPECT_NEAR(query_scale(scale, (1 << 21) - 1), std::pow(1025.0, 0.1), 2 * test::kFewSteps);
}

// 1 up to the floor; ln 2 at twice the floor. No steps, unlike Ministral's.
TEST(QueryScale, InklingGrowsFromItsFloor) {
  const QueryScale scale = InklingTemperature{.alpha = 0.1, .floor = 8192};
  EXPECT_EQ(query_scale(scale, 0), 1.0);
  EXPECT_EQ(query_scale(scale, 8191), 1.0);
  EXPECT_GT(query_scale(scale, 8192), 1.0);
  EXPECT_NEAR(query_scale(scale, 16383), 1.0693147180559945, 2 * test::kFewSteps);
}

TEST(QueryScale, NeverFalls) {
  for (const QueryScale& scale :
       {QueryScale{Llama4Temperature{}}, QueryScale{MinistralTemperature{.original_max_position_embeddings = 4096}},
        QueryScale{LogNScale{.seq_length = 512}}, QueryScale{BeamTemperature{}},
        QueryScale{InklingTemperature{.floor = 512}}}) {
    double before = 1.0;
    for (std::int64_t position = 0; position < (std::int64_t{1} << 40); position = 2 * position + 1) {
      const double now = query_scale(scale, position);
      EXPECT_GE(now, before);
      before = now;
    }
    EXPECT_GT(before, 1.5);
  }
}

TEST(QueryScale, BadNumbers) {
  EXPECT_ERROR(query_scale({}, -1), "[query_scale] position must be at least 0 but is -1");
  EXPECT_ERROR(query_scale(Llama4Temperature{.floor_scale = 0}, 1),
               "[query_scale] floor_scale must be a finite number above 0 but is 0");
  EXPECT_ERROR(query_scale(Llama4Temperature{.attn_scale = std::numeric_limits<double>::quiet_NaN()}, 1),
               "[query_scale] attn_scale must be a finite number but is nan");
  EXPECT_ERROR(query_scale(MinistralTemperature{}, 1),
               "[query_scale] original_max_position_embeddings must be at least 1 but is 0");
  EXPECT_ERROR(query_scale(MinistralTemperature{.beta = -std::numeric_limits<double>::infinity(),
                                                .original_max_position_embeddings = 4},
                           1),
               "[query_scale] beta must be a finite number but is -inf");
  EXPECT_ERROR(query_scale(LogNScale{.seq_length = 1}, 1), "[query_scale] seq_length must be at least 2 but is 1");
}

}  // namespace
}  // namespace posenc::query_scale_test
