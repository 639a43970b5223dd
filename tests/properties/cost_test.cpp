// What schemes cost, against counts by hand.
#include <gtest/gtest.h>

#include <cstdint>

#include "posenc/properties.h"
#include "support/throws.h"

namespace posenc::test::cost_test {
namespace {

constexpr CostSizes kSizes{.tokens = 20, .heads = 2, .head_dim = 8};
constexpr double n = 20;
constexpr double h = 2;
constexpr double d = 8;
constexpr double kScores = h * n * n;

void expect_cost(const char* scheme, const Cost& wanted) {
  SCOPED_TRACE(scheme);
  const Cost found = cost(scheme, kSizes);
  EXPECT_EQ(found.additions, wanted.additions);
  EXPECT_EQ(found.products, wanted.products);
  EXPECT_EQ(found.parameters, wanted.parameters);
  EXPECT_EQ(found.bytes, wanted.bytes);
}

TEST(Cost, OfPlainAttention) {
  const Cost plain = plain_attention_cost(kSizes);
  EXPECT_EQ(plain.additions, 2 * n * n * h * d);
  EXPECT_EQ(plain.products, 2 * n * n * h * d);
  EXPECT_EQ(plain.parameters, 0);
  EXPECT_EQ(plain.bytes, 4 * 2 * n * h * d);
}

TEST(Cost, OfNothing) { expect_cost("nope", {}); }

// x + p: one addition a channel, and not three before the softmax.
TEST(Cost, OfTheInputStage) {
  for (const char* scheme : {"sinusoidal", "integer", "binary"}) {
    expect_cost(scheme, {.additions = n * h * d, .bytes = 4 * n * h * d});
  }
  expect_cost("learned", {.additions = n * h * d, .parameters = n * h * d, .bytes = 4 * n * h * d});
}

// q and k, d/2 pairs a head, four products and two additions each; cos and sin of every token.
TEST(Cost, OfTheRotation) {
  expect_cost("rope", {.additions = 2 * n * h * d, .products = 4 * n * h * d, .bytes = 4 * n * d});
  expect_cost("rope-partial", {.additions = n * h * d, .products = 2 * n * h * d, .bytes = 4 * n * d / 2});
  // Half of the pairs stand still.
  expect_cost("rope-proportional", {.additions = n * h * d, .products = 2 * n * h * d, .bytes = 4 * n * d / 2});
  // Queries and keys have coefficients of their own.
  expect_cost("xpos", {.additions = 2 * n * h * d, .products = 4 * n * h * d, .bytes = 4 * 2 * n * d});
  // Beside those, v: three tensors in place of two.
  expect_cost("rotated-values", {.additions = 3 * n * h * d, .products = 6 * n * h * d, .bytes = 4 * n * d});
  expect_cost("rotated-values-back", {.additions = 4 * n * h * d, .products = 8 * n * h * d, .bytes = 4 * n * d});
  // Near and far.
  expect_cost("self-extend", {.additions = 4 * n * h * d, .products = 8 * n * h * d, .bytes = 4 * 2 * n * d});
}

TEST(Cost, OfBiasesByDistance) {
  // A distance, its product with a slope, a sum; a slope a head.
  expect_cost("alibi", {.additions = 2 * kScores, .products = kScores, .bytes = 4 * h});
  // slope j, made once for each key.
  expect_cost("alibi-column", {.additions = kScores + h * n, .bytes = 4 * h * n});
  // A look-up and a sum: a number for each bucket and head is learned.
  const Cost t5 = cost("t5", kSizes);
  EXPECT_EQ(t5.additions, kScores);
  EXPECT_EQ(t5.products, 0);
  EXPECT_EQ(t5.parameters, 32 * h);
  // At most one number for each of the 2 n - 1 distances.
  EXPECT_LE(t5.bytes, 4 * h * (2 * n - 1));
  EXPECT_EQ(cost("t5-gated", kSizes).products, kScores);
  EXPECT_EQ(cost("fire", kSizes).parameters, 2 + 2 * 32 + h * 32 + h);
}

// Shaw's keys, seed 001's (3): the query with the vector of each distance that it meets, and a sum. Of 2 n - 1
// distances, all of which have rows here, a query meets n.
TEST(Cost, OfShawsKeys) {
  const Cost found = cost("shaw", kSizes);
  EXPECT_EQ(found.products, n * n * h * d);
  EXPECT_EQ(found.additions, n * n * h * d + kScores);
  EXPECT_EQ(found.parameters, 65 * d);
}

// Seed 001's (8): beside x W_Q W_K^T x one product by distance (the projection W r is made once), u into the queries,
// v . W r a number for each distance.
TEST(Cost, OfTransformerXl) {
  const Cost found = cost("transformer-xl", kSizes);
  EXPECT_EQ(found.products, n * n * h * d);
  EXPECT_EQ(found.additions, n * n * h * d + kScores + kScores + n * h * d);
  EXPECT_EQ(found.parameters, h * d * h * d + 2 * h * d);
}

// Both ways: content to position and position to content.
TEST(Cost, OfDeberta) {
  const Cost found = cost("deberta", kSizes);
  EXPECT_EQ(found.products, 2 * n * n * h * d);
  EXPECT_EQ(found.additions, 2 * (n * n * h * d + kScores));
}

TEST(Cost, OfEveryScheme) {
  for (const MeasuredScheme& scheme : measured_schemes()) {
    SCOPED_TRACE(scheme.name);
    const Cost found = cost(scheme.name, kSizes);
    EXPECT_EQ(found.additions + found.products == 0, scheme.name == "nope");
    EXPECT_EQ(found.bytes == 0, scheme.name == "nope");
  }
}

TEST(Cost, WhatCannotBeAsked) {
  EXPECT_ERROR(cost("rope", {.tokens = 0}), "[cost] tokens must be at least 1 but is 0");
  EXPECT_ERROR(cost("rope", {.heads = -1}), "[cost] heads must be at least 1 but is -1");
  EXPECT_ERROR(plain_attention_cost({.head_dim = 0}), "[plain_attention_cost] head_dim must be at least 1 but is 0");
  EXPECT_ERROR(cost("ropes"), "[cost] scheme must be one of measured_schemes() but is 'ropes'");
}

}  // namespace
}  // namespace posenc::test::cost_test
