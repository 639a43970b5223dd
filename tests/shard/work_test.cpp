// Counted work against loops over every pair, and how alike the ranks' work is.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "posenc/distributed/shard.h"
#include "support/random_tensor.h"
#include "support/throws.h"

namespace posenc::test::work_test {
namespace {

// From the words of posenc/plan.h, not from the code under test.
bool sees(const Mask& mask, std::int64_t prefix, std::int64_t i, std::int64_t j) {
  bool seen = mask.kind == MaskKind::bidirectional || j <= i || (mask.kind == MaskKind::prefix && j < prefix);
  if (mask.window) seen = seen && i - j <= mask.window->past && j - i <= mask.window->future;
  if (mask.chunk) seen = seen && i / *mask.chunk == j / *mask.chunk;
  return seen;
}

struct Counts {
  std::int64_t pairs = 0;
  std::int64_t tiles = 0;
};

Counts counted(const Shard& q, const Shard& k, const Mask& mask, std::int64_t prefix) {
  Counts out;
  for (std::size_t d = 0; d + 1 < q.cu_seqlens.size(); ++d) {
    for (std::int32_t qs = q.cu_seqlens[d]; qs < q.cu_seqlens[d + 1]; qs += 64) {
      for (std::int32_t ks = k.cu_seqlens[d]; ks < k.cu_seqlens[d + 1]; ks += 64) {
        std::int64_t pairs = 0;
        for (std::int32_t i = qs; i < std::min(qs + 64, q.cu_seqlens[d + 1]); ++i) {
          for (std::int32_t j = ks; j < std::min(ks + 64, k.cu_seqlens[d + 1]); ++j) {
            pairs += sees(mask, prefix, q.order[static_cast<std::size_t>(i)], k.order[static_cast<std::size_t>(j)]);
          }
        }
        out.pairs += pairs;
        out.tiles += pairs > 0;
      }
    }
  }
  return out;
}

struct MaskCase {
  Mask mask;
  std::int64_t prefix = 0;
};
const std::vector<MaskCase> kMasks{
    {.mask = {.kind = MaskKind::causal}},
    {.mask = {.kind = MaskKind::bidirectional}},
    {.mask = {.kind = MaskKind::prefix}, .prefix = 37},
    {.mask = {.kind = MaskKind::causal, .window = Window{.past = 70}}},
    {.mask = {.kind = MaskKind::bidirectional, .window = Window{.past = 20, .future = 90}}},
    {.mask = {.kind = MaskKind::causal, .chunk = 50}}};

TEST(ShardWork, IsCountedPairByPair) {
  const std::vector<std::int32_t> ends{0, 3, 3, 150, 420};
  std::int64_t all_tiles = 0;
  for (const MaskCase& one : kMasks) {
    for (const Dealing dealing : {Dealing::contiguous, Dealing::zigzag, Dealing::striped, Dealing::balanced}) {
      const Sharding dealt =
          shard({.ranks = 3, .dealing = dealing, .cu_seqlens = ends, .mask = one.mask, .prefix = one.prefix});
      const ShardWork work = shard_work(dealt, dealt, one.mask, one.prefix);
      for (std::int64_t q = 0; q < 3; ++q) {
        for (std::int64_t k = 0; k < 3; ++k) {
          const Counts wanted = counted(dealt.ranks[static_cast<std::size_t>(q)],
                                        dealt.ranks[static_cast<std::size_t>(k)], one.mask, one.prefix);
          EXPECT_EQ(work.pairs_of(q, k), wanted.pairs);
          // What queries see together is taken for an interval: a tile in a gap of it counts, one too many at most.
          EXPECT_GE(work.tiles_of(q, k), wanted.tiles);
          EXPECT_LE(work.tiles_of(q, k), wanted.tiles + 4);
          all_tiles += wanted.tiles;
        }
      }
    }
  }
  EXPECT_GT(all_tiles, 800);
}

// Two shardings of the same documents, of other lengths.
TEST(ShardWork, OfCrossAttention) {
  const std::vector<std::int32_t> q_ends{0, 30, 100};
  const std::vector<std::int32_t> k_ends{0, 200, 210};
  const Sharding q = shard({.ranks = 2, .cu_seqlens = q_ends});
  const Sharding k = shard({.ranks = 3, .dealing = Dealing::contiguous, .cu_seqlens = k_ends});
  const ShardWork work = shard_work(q, k, {.kind = MaskKind::bidirectional});
  EXPECT_EQ(work.query_ranks, 2);
  EXPECT_EQ(work.key_ranks, 3);
  std::int64_t sum = 0;
  for (const std::int64_t pairs : work.pairs) sum += pairs;
  EXPECT_EQ(sum, 30 * 200 + 70 * 10);
  const Sharding other = shard({.tokens = 5});
  EXPECT_ERROR(shard_work(q, other, {}), "[shard_work] keys must have the 2 documents of the queries but is of 1");
  EXPECT_ERROR(shard_work(q, k, {.kind = MaskKind::sparse}),
               "[shard_work] mask must be causal, bidirectional or prefix, which orders decide but is sparse");
}

// The promise of docs/distributed.md: at most 1.02, of tiles, and where blocks of 64 are not weighed by these of
// scores.
constexpr double kAlike = 1.02;

TEST(ShardWork, IsAlikeWhereItIsDealtRight) {
  const auto check = [](const ShardArgs& args, const Mask& mask) {
    const Sharding dealt = shard(args);
    const ShardWork work = shard_work(dealt, dealt, mask);
    EXPECT_LE(tile_imbalance(work), kAlike) << name(args.dealing) << ", " << args.ranks << " ranks";
    if (args.dealing == Dealing::balanced) return;
    EXPECT_LE(pair_imbalance(work), kAlike) << name(args.dealing) << ", " << args.ranks << " ranks";
  };
  const Mask causal{.kind = MaskKind::causal};
  const Mask window{.kind = MaskKind::causal, .window = Window{.past = 1023}};
  Random random(17);
  std::vector<std::int32_t> ends{0};
  while (ends.back() < 60000) ends.push_back(ends.back() + 1 + static_cast<std::int32_t>(random.whole(0, 3000)));
  for (const std::int64_t ranks : {2, 3, 4, 8}) {
    for (const Dealing dealing : {Dealing::zigzag, Dealing::striped, Dealing::balanced}) {
      check({.ranks = ranks, .dealing = dealing, .tokens = 32768, .mask = causal}, causal);
    }
    for (const Dealing dealing : {Dealing::striped, Dealing::balanced}) {
      check({.ranks = ranks, .dealing = dealing, .tokens = 32768, .mask = window}, window);
      check({.ranks = ranks, .dealing = dealing, .cu_seqlens = ends, .mask = causal}, causal);
      check({.ranks = ranks, .dealing = dealing, .cu_seqlens = ends, .mask = window}, window);
    }
    check({.ranks = ranks, .cu_seqlens = ends}, causal);
    const Sharding plain = shard({.ranks = ranks, .dealing = Dealing::contiguous, .tokens = 32768});
    EXPECT_GT(pair_imbalance(shard_work(plain, plain, causal)), 1.4);  // which is what this is for
  }
}

// As many rows to each, but for a block.
TEST(ShardWork, BalancedRanksHoldAsMuch) {
  std::vector<std::int32_t> ends{0};
  Random random(5);
  while (ends.back() < 20000) ends.push_back(ends.back() + 1 + static_cast<std::int32_t>(random.whole(0, 400)));
  const Sharding dealt = shard({.ranks = 8, .dealing = Dealing::balanced, .cu_seqlens = ends});
  for (const Shard& own : dealt.ranks) {
    EXPECT_LE(std::ssize(own.rows), dealt.tokens / 8 + 2 * 64);
    EXPECT_GE(std::ssize(own.rows), dealt.tokens / 8 - 2 * 64);
  }
}

}  // namespace
}  // namespace posenc::test::work_test
