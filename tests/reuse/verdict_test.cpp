// reuse_verdict says of every scheme, every operation and both ways of storing keys what comes out when the operation
// is carried out: exact where the outputs agree to rounding, anything else where they do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "posenc/cache/reuse.h"
#include "reuse/reuse_cases.h"
#include "support/error_ratio.h"

namespace posenc::test::verdict_test {
namespace {

constexpr std::uint64_t kSeed = 2511;
constexpr std::int64_t kFar = 997;  // a prime, and so no multiple of a period
// A place below 1024 that is no whole number (leaky ReRoPE's) is off by half an ulp, 2^-44, once it is moved, so many
// radians at most. A score is off by that times its size, here up to 4, a weight relatively by twice that, and so is an
// output.
constexpr double kExact = 2 * 4 * 0x1p-44;
constexpr double kDifferent = 1e-7;  // of outputs, over the largest of them

bool is_rounding(const ReuseReason& reason) {
  return reason.effect == Reuse::exact || reason.fact == ReuseFact::rounded_again;
}

// In double nothing is rounded that would be seen.
bool agrees(const ReuseVerdict& verdict) { return std::ranges::all_of(verdict.reasons, is_rounding); }

TEST(ReuseVerdict, IsWhatComesOut) {
  ErrorRatio ratio("operated caches that are exact");
  double smallest = 1.0;
  std::string where_smallest;
  std::uint64_t seed = kSeed;
  for (const ReuseCase& one : reuse_cases()) {
    const SmallModel model(one.plan, one.weights, ++seed);
    const Operations operations(model, one.side > 0 ? 3 : kFar);
    for (std::int64_t o = 0; o < kCacheOperations; ++o) {
      const auto operation = static_cast<CacheOperation>(o);
      for (const StoredKeys keys : {StoredKeys::unrotated, StoredKeys::rotated}) {
        for (std::size_t layer = 0; layer < 2; ++layer) {
          const ReuseVerdict verdict =
              reuse_verdict(one.plan, static_cast<std::int64_t>(layer), operation, {.keys = keys});
          const double is = operations.difference(operation, layer, keys);
          std::string where = one.name + ", " + std::string(name(operation)) + ", " + std::string(name(keys)) +
                              ", layer " + std::to_string(layer) + ", seed " + std::to_string(seed);
          for (const ReuseReason& reason : verdict.reasons) where += "; " + std::string(name(reason.fact));
          if (agrees(verdict)) {
            EXPECT_LE(is, kExact) << where;
            ratio.add(is, kExact, where);
            continue;
          }
          EXPECT_GT(is, kDifferent) << where;
          if (is < smallest) where_smallest = where;
          smallest = std::min(smallest, is);
        }
      }
    }
  }
  ratio.expect();
  std::printf("[  least   ] of others: %.3g at %s\n", smallest, where_smallest.c_str());
}

// By multiples of a period, and below the place from which a temperature rises, shifts are exact in deeper layers too.
TEST(ReuseVerdict, SaysByHowMuchTokensMayBeMoved) {
  std::int64_t periods = 0;
  std::int64_t limits = 0;
  std::uint64_t seed = kSeed;
  for (const ReuseCase& one : reuse_cases()) {
    const ReuseVerdict verdict = reuse_verdict(one.plan, 1, CacheOperation::shift);
    if (verdict.reuse == Reuse::no || verdict.period == 1) continue;
    const SmallModel model(one.plan, one.weights, ++seed);
    const std::string where = one.name + ", seed " + std::to_string(seed);
    if (verdict.period > 1) {
      ++periods;
      EXPECT_EQ(kFar % verdict.period == 0, false);
      const Operations whole(model, 31 * verdict.period);
      EXPECT_LE(whole.difference(CacheOperation::shift, 1, StoredKeys::unrotated), kExact) << where;
    }
    if (!verdict.exact_below) continue;
    ++limits;
    if (one.name == "dynamic") {
      // By the length, which the last token gives: as many as fit, and one more.
      const std::int64_t room = *verdict.exact_below - kTokens;
      const Operations fits(model, room, kTokens);
      EXPECT_LE(fits.difference(CacheOperation::shift, 1, StoredKeys::unrotated), kExact) << where;
      const Operations beyond(model, room + 1, kTokens);
      EXPECT_GT(beyond.difference(CacheOperation::shift, 1, StoredKeys::unrotated), kDifferent) << where;
      continue;
    }
    // The tokens that stand below it, and the first that does not.
    const Operations near(model, 1);
    const std::int64_t below = *verdict.exact_below - 1;
    ASSERT_GT(below, 0) << where;
    EXPECT_LE(near.difference(CacheOperation::shift, 1, StoredKeys::unrotated, 0, below), kExact) << where;
    EXPECT_GT(near.difference(CacheOperation::shift, 1, StoredKeys::unrotated, 0, below + 1), kDifferent) << where;
  }
  EXPECT_EQ(periods, 2);  // SelfExtend, dual chunk
  EXPECT_EQ(limits, 6);   // Llama 4 twice, Ministral, log n, Inkling, dynamic NTK
}

// How far behind the cut keys are off, of sliding layers: as many tokens as the layers below it reach together.
TEST(ReuseVerdict, SaysHowFarBehindAnEdgeKeysAreOff) {
  LayerPlan layer = with_rotation(half_rope());
  layer.mask.window = Window{.past = 2};
  const Plan plan = plan_of({layer, layer, layer});
  const SmallModel model(plan, {}, kSeed);
  const Operations operations(model, kFar);
  for (std::size_t l = 1; l < 3; ++l) {
    const ReuseVerdict verdict = reuse_verdict(plan, static_cast<std::int64_t>(l), CacheOperation::front_trim);
    ASSERT_TRUE(verdict.reach.has_value());
    EXPECT_EQ(*verdict.reach, static_cast<std::int64_t>(2 * l));
    // A query sees keys up to two before it.
    const std::int64_t first = *verdict.reach + 2;
    EXPECT_LE(operations.difference(CacheOperation::front_trim, l, StoredKeys::unrotated, first), kExact) << l;
    EXPECT_GT(operations.difference(CacheOperation::front_trim, l, StoredKeys::unrotated, first - 1, first), kDifferent)
        << l;
  }
  EXPECT_EQ(reuse_verdict(plan, 0, CacheOperation::front_trim).reach, 0);
}

}  // namespace
}  // namespace posenc::test::verdict_test
