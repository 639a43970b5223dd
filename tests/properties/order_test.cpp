// Whether the order of tokens is seen: the two experiments with which texts begin.
#include <gtest/gtest.h>

#include <string>

#include "posenc/properties.h"
#include "support/throws.h"
#include "support/tolerances.h"

namespace posenc::test::order_test {
namespace {

// Outputs of channels of variance 1 that a softmax over few keys averages: what differs by more is no rounding.
constexpr double kSeen = 1e-4;

// "The dog chased another dog": same word, same keys, so the same output, in the same order of summation.
TEST(Order, WithoutPositionsTheDogsAreOne) { EXPECT_EQ(order_experiment("nope").all_see_all.dogs, 0.0); }

// "I love you", "you love I": every word reads the same set. Summed in another order.
TEST(Order, WithoutPositionsASentenceIsASet) {
  const OrderSeen seen = order_experiment("nope").all_see_all;
  EXPECT_LE(seen.sentences, permuted_output_error(3));
  EXPECT_LE(seen.invariance, permuted_output_error(3));
  EXPECT_EQ(seen.equivariance, 0.0);
}

// The first dog does not see the second: a mask alone tells them apart, and the two sentences.
TEST(Order, ACausalMaskAloneIsSeen) {
  const OrderSeen seen = order_experiment("nope").causal;
  EXPECT_GT(seen.dogs, kSeen);
  EXPECT_GT(seen.sentences, kSeen);
  EXPECT_GT(seen.equivariance, kSeen);
  EXPECT_GT(seen.invariance, kSeen);
}

TEST(Order, PositionsAreSeen) {
  for (const char* scheme :
       {"learned", "sinusoidal", "integer", "integer-normalised", "binary", "rope", "xpos", "t5", "clipped-bias",
        "shaw", "transformer-xl", "xlnet", "deberta", "shaw-values", "rotated-values", "forget-gate"}) {
    SCOPED_TRACE(scheme);
    const OrderExperiment found = order_experiment(scheme);
    for (const OrderSeen& seen : {found.all_see_all, found.causal}) {
      EXPECT_GT(seen.dogs, kSeen);
      EXPECT_GT(seen.sentences, kSeen);
      EXPECT_GT(seen.invariance, kSeen);
    }
  }
}

// A distance without direction: each word of the sentence read backwards has the same words equally far away. The two
// dogs, which have different neighbours, differ all the same.
TEST(Order, WithoutDirectionASentenceReadBackwardsIsTheSame) {
  for (const char* scheme : {"alibi-symmetric", "kerple", "kerple-power", "sandwich"}) {
    SCOPED_TRACE(scheme);
    const OrderExperiment found = order_experiment(scheme);
    EXPECT_LE(found.all_see_all.sentences, permuted_output_error(3));
    EXPECT_GT(found.all_see_all.dogs, kSeen);
    EXPECT_GT(found.all_see_all.invariance, kSeen);
    EXPECT_GT(found.causal.sentences, kSeen);
  }
}

// -slope (i - j) is slope j and a number of the query's own, which the softmax takes away: where all see all, ALiBi
// tells keys apart and not queries.
TEST(Order, AlibiAloneIsNoPlaceOfTheQuery) {
  for (const char* scheme : {"alibi", "alibi-column"}) {
    SCOPED_TRACE(scheme);
    const OrderExperiment found = order_experiment(scheme);
    EXPECT_LE(found.all_see_all.dogs, permuted_output_error(6));
    EXPECT_LE(found.all_see_all.equivariance, permuted_output_error(3));
    EXPECT_GT(found.all_see_all.invariance, kSeen);
    EXPECT_GT(found.causal.dogs, kSeen);
  }
}

// Under a causal mask, as without positions.
TEST(Order, WithEveryScheme) {
  for (const MeasuredScheme& scheme : measured_schemes()) {
    SCOPED_TRACE(scheme.name);
    const OrderSeen seen = order_experiment(scheme.name).causal;
    EXPECT_GT(seen.dogs, kSeen);
    EXPECT_GT(seen.sentences, kSeen);
  }
}

TEST(Order, OfNoSuchScheme) {
  EXPECT_ERROR(order_experiment("rop"), "[order_experiment] scheme must be one of measured_schemes() but is 'rop'");
}

}  // namespace
}  // namespace posenc::test::order_test
