// Buckets of T5 and DeBERTa: by hand, and where float and double part.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "attend/attending.h"
#include "posenc/scores.h"

namespace posenc::test::buckets_test {
namespace {

// The same formula in double, of a distance of at least 0.
std::int64_t t5_in_double(const T5Bias& scheme, std::int64_t distance) {
  const std::int64_t buckets = scheme.bidirectional ? scheme.buckets / 2 : scheme.buckets;
  const std::int64_t exact = buckets / 2;
  if (distance < exact) return distance;
  const auto e = static_cast<double>(exact);
  const double place = std::log(static_cast<double>(distance) / e) /
                       std::log(static_cast<double>(scheme.max_distance) / e) * static_cast<double>(buckets - exact);
  return std::min(buckets - 1, exact + static_cast<std::int64_t>(place));
}

// 32 buckets, 128, one direction: 16 exact ones, then 16 + ln(d/16)/ln(8) 16. d = 32: 16 + 16/3 = 21; 64: 26; 128: 32,
// cut to 31.
TEST(T5Buckets, OfADecoder) {
  const T5Bias scheme;
  const std::vector<std::int64_t> distances{-5, 0, 1, 15, 16, 17, 32, 64, 127, 128, 100000};
  const std::vector<std::int64_t> wanted{0, 0, 1, 15, 16, 16, 21, 26, 31, 31, 31};
  for (std::size_t n = 0; n < distances.size(); ++n) EXPECT_EQ(t5_bucket(scheme, distances[n]), wanted[n]) << n;
}

// Both: 8 exact ones of 16, then 8 + ln(d/8)/ln(16) 8. d = 16: 8 + 8/4 = 10; 32: 12. Keys in the future 16 further on.
TEST(T5Buckets, OfAnEncoder) {
  const T5Bias scheme{.bidirectional = true};
  const std::vector<std::int64_t> distances{0, 7, 8, 11, 12, 16, 32, 127, 128, -1, -7, -8, -16, -128, -100000};
  const std::vector<std::int64_t> wanted{0, 7, 8, 8, 9, 10, 12, 15, 15, 17, 23, 24, 26, 31, 31};
  for (std::size_t n = 0; n < distances.size(); ++n) EXPECT_EQ(t5_bucket(scheme, distances[n]), wanted[n]) << n;
}

// ln(80/8)/ln(800/8) 8 and ln(40/16)/ln(100/16) 16 are whole numbers.
TEST(T5Buckets, OnAnEdgeThatIsExact) {
  EXPECT_EQ(t5_bucket({.buckets = 32, .max_distance = 800, .bidirectional = true}, 80), 12);
  EXPECT_EQ(t5_bucket({.buckets = 32, .max_distance = 800, .bidirectional = true}, 79), 11);
  EXPECT_EQ(t5_bucket({.buckets = 32, .max_distance = 100}, 40), 24);
  EXPECT_EQ(t5_bucket({.buckets = 32, .max_distance = 100}, 39), 23);
}

// torch 2.13 says the same of these.
TEST(T5Buckets, AreThoseOfFloat) {
  struct Edge {
    T5Bias scheme;
    std::int64_t distance;
    std::int64_t in_float;
    std::int64_t in_double;
  };
  for (const Edge& edge : {Edge{{.buckets = 32, .max_distance = 939}, 728, 31, 30},
                           Edge{{.buckets = 64, .max_distance = 939, .bidirectional = true}, 728, 31, 30},
                           Edge{{.buckets = 16, .max_distance = 1461}, 762, 15, 14},
                           Edge{{.buckets = 320, .max_distance = 1215}, 240, 191, 192}}) {
    EXPECT_EQ(t5_bucket(edge.scheme, edge.distance), edge.in_float) << edge.distance;
    EXPECT_EQ(t5_in_double(edge.scheme, edge.distance), edge.in_double) << edge.distance;
  }
}

// T5 and its kin; WavLM; Switch; MPNet's 32 of 128 too.
TEST(T5Buckets, AreThoseOfDoubleForPublishedSettings) {
  for (const T5Bias& scheme :
       {T5Bias{}, T5Bias{.bidirectional = true}, T5Bias{.buckets = 320, .max_distance = 800, .bidirectional = true},
        T5Bias{.buckets = 64, .max_distance = 128, .bidirectional = true}}) {
    for (std::int64_t d = 0; d < 3 * scheme.max_distance; ++d) {
      EXPECT_EQ(t5_bucket(scheme, d), t5_in_double(scheme, d)) << d;
    }
  }
}

TEST(T5Bias, TakesTheHeadsNumberOfTheBucket) {
  const T5Bias scheme{.buckets = 4, .max_distance = 8, .bidirectional = true};  // 0; 1 and more; 2 of the future
  const Tensor table = tensor_of({4, 2}, {1, 10, 2, 20, 3, 30, 4, 40});
  const Attended got = biases(layer_with(scheme, 2), 2, 2, {.score = {T5Weights{table}}});
  EXPECT_EQ(got.scores.values, (std::vector<double>{1, 4, 2, 1, 10, 40, 20, 10}));
}

TEST(T5Bias, IsGatedByTheQuery) {
  const T5Bias scheme{.buckets = 4, .max_distance = 8, .bidirectional = true, .gated = true};
  const Tensor table = tensor_of({4, 2}, {1, 10, 2, 20, 3, 30, 4, 40});
  const Tensor gate = tensor_of({2, 2}, {0.5, 1, 2, 3});  // [rows, heads]
  const Attended got = biases(layer_with(scheme, 2), 2, 2, {.score = {T5Weights{table}}}, {.row_gate = gate});
  EXPECT_EQ(got.scores.values, (std::vector<double>{0.5, 2, 4, 2, 10, 40, 60, 30}));
}

// LayoutLMv2: a bias by order and one by where a word begins across the page, each with a table of its own.
TEST(T5Bias, CountsAlongAnAxis) {
  const T5Bias by_order{.buckets = 4, .max_distance = 8, .bidirectional = true};
  T5Bias across = by_order;
  across.axis = 1;
  LayerPlan layer = layer_with(by_order);
  layer.score.emplace_back(across);
  const Tensor order = tensor_of({4, 1}, {1, 2, 3, 4});
  const Tensor place = tensor_of({4, 1}, {10, 20, 30, 40});
  // Two words: the second stands left of the first. [axes, tokens]
  const std::vector<std::int64_t> positions{0, 1, 700, 20};
  const std::span<const std::int64_t> given(positions);
  const Attended got = biases(layer, 2, 2, {.score = {T5Weights{order}, T5Weights{place}}},
                              {.q_positions = given, .k_positions = given});
  // Of word 0 word 1 is ahead in the text (4) and behind on the page (20); the other way round 2 and 40.
  EXPECT_EQ(got.scores.values, (std::vector<double>{11, 4 + 20, 2 + 40, 11}));
}

// ---- DeBERTa ----

// v1: no buckets, span 4: clamp(d + 4, 0, 7).
TEST(DebertaRows, WithoutBuckets) {
  const Deberta scheme{.max_distance = 4};
  EXPECT_EQ(deberta_span(scheme), 4);
  const std::vector<std::int64_t> wanted{0, 0, 1, 2, 3, 4, 5, 6, 7, 7, 7};
  for (std::int64_t d = -5; d <= 5; ++d)
    EXPECT_EQ(deberta_row(scheme, d), wanted[static_cast<std::size_t>(d + 5)]) << d;
}

// 8 buckets to 17: exact up to 4, then ceil(ln(d/4)/ln(16/4) 3) + 4. d = 5: ceil(0.48) = 1; 6: ceil(0.88) = 1;
// 7: ceil(1.21) = 2; 8: ceil(3/2) = 2; 11: ceil(2.19) = 3; 16: 3, the bucket 7; 17: ceil(3.13) = 4, the bucket 8.
TEST(DebertaRows, WithBuckets) {
  const Deberta scheme{.buckets = 8, .max_distance = 17};
  EXPECT_EQ(deberta_span(scheme), 8);
  const std::vector<std::int64_t> distances{0, 4, 5, 6, 7, 8, 11, 16, 17, 1000, -4, -5, -16, -17, -1000};
  const std::vector<std::int64_t> wanted{8, 12, 13, 13, 14, 14, 15, 15, 15, 15, 4, 3, 1, 0, 0};
  for (std::size_t n = 0; n < distances.size(); ++n) EXPECT_EQ(deberta_row(scheme, distances[n]), wanted[n]) << n;
}

// At max - 1 the quotient of the logarithms is 1, in float too where both are of floats: 2 + 3, not 3 + 3. torch 2.13
// says the same, and that 12 is in 14; double says 13.
TEST(DebertaRows, AreThoseOfFloat) {
  EXPECT_EQ(deberta_row({.buckets = 6, .max_distance = 9}, -8), 6 - 5);
  EXPECT_EQ(deberta_row({.buckets = 18, .max_distance = 17}, 12), 18 + 14);
  EXPECT_EQ(std::ceil(std::log(12.0 / 9) / std::log(16.0 / 9) * 8) + 9, 13);
}

// v2 and v3: 256 of 512; mDeBERTa and the small ones the same; SEW-D the same.
TEST(DebertaRows, AreThoseOfDoubleForPublishedSettings) {
  const Deberta scheme{.buckets = 256, .max_distance = 512};
  for (std::int64_t d = 129; d < 2048; ++d) {
    const double place = std::ceil(std::log(static_cast<double>(d) / 128) / std::log(511.0 / 128) * 127) + 128;
    const auto bucket = static_cast<std::int64_t>(place);
    EXPECT_EQ(deberta_row(scheme, d), std::min<std::int64_t>(bucket + 256, 511)) << d;
    EXPECT_EQ(deberta_row(scheme, -d), std::max<std::int64_t>(256 - bucket, 0)) << d;
  }
}

}  // namespace
}  // namespace posenc::test::buckets_test
