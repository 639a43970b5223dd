// Every token lies on one rank, with its order, its document and its coordinates, whatever way it is dealt.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "posenc/distributed/shard.h"
#include "support/throws.h"

namespace posenc::test::deal_test {
namespace {

constexpr std::array kAllDealings{Dealing::contiguous, Dealing::zigzag, Dealing::striped, Dealing::balanced};
// Documents of no token, of one, of fewer than there are ranks, of a tile and of one more.
const std::vector<std::int32_t> kEnds{0, 0, 1, 4, 68, 133, 500};

std::vector<std::int64_t> counted(std::int64_t count, std::int64_t first = 0) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), first);
  return out;
}

TEST(Deal, TokensKeepWhatTheyAre) {
  constexpr std::int64_t kTokens = 500;
  std::vector<std::int64_t> order(kTokens);
  std::vector<std::int64_t> positions(2 * kTokens);  // two axes, as of images
  for (std::int64_t t = 0; t < kTokens; ++t) {
    const auto at = static_cast<std::size_t>(t);
    order[at] = t * 3 % 501;
    positions[at] = 1000 + t;
    positions[at + kTokens] = 5000 - t;
  }
  for (const Dealing dealing : kAllDealings) {
    for (const std::int64_t ranks : {1, 2, 3, 4, 8, 17}) {
      SCOPED_TRACE(std::string(name(dealing)) + ", " + std::to_string(ranks));
      const Sharding dealt =
          shard({.ranks = ranks, .dealing = dealing, .cu_seqlens = kEnds, .order = order, .positions = positions});
      ASSERT_EQ(std::ssize(dealt.ranks), ranks);
      EXPECT_EQ(dealt.tokens, kTokens);
      EXPECT_EQ(dealt.documents, 6);
      EXPECT_EQ(dealt.axes, 2);
      std::vector<std::int64_t> held;
      for (const Shard& own : dealt.ranks) {
        EXPECT_TRUE(std::ranges::is_sorted(own.rows));
        ASSERT_EQ(own.cu_seqlens.size(), kEnds.size());
        ASSERT_EQ(own.positions.size(), 2 * own.rows.size());
        for (std::size_t n = 0; n < own.rows.size(); ++n) {
          const std::int64_t row = own.rows[n];
          held.push_back(row);
          EXPECT_EQ(own.order[n], order[static_cast<std::size_t>(row)]);
          EXPECT_EQ(own.positions[n], static_cast<double>(1000 + row));
          EXPECT_EQ(own.positions[own.rows.size() + n], static_cast<double>(5000 - row));
          const auto d = static_cast<std::size_t>(own.documents[n]);
          EXPECT_TRUE(kEnds[d] <= row && row < kEnds[d + 1]);
          EXPECT_TRUE(own.cu_seqlens[d] <= static_cast<std::int32_t>(n) &&
                      static_cast<std::int32_t>(n) < own.cu_seqlens[d + 1]);
        }
      }
      ASSERT_EQ(std::ssize(held), kTokens);
      for (std::int64_t row = 0; row < kTokens; ++row) {
        EXPECT_EQ(held[static_cast<std::size_t>(dealt.places[static_cast<std::size_t>(row)])], row);
      }
    }
  }
}

TEST(Deal, OrdersAreCountedInEachDocument) {
  const Sharding dealt = shard({.ranks = 2, .dealing = Dealing::contiguous, .cu_seqlens = kEnds});
  EXPECT_EQ(dealt.axes, 0);
  EXPECT_EQ(dealt.ranks[0].order[0], 0);
  EXPECT_EQ(dealt.ranks[0].order[3], 2);
  EXPECT_EQ(dealt.ranks[1].order[0], 250 - 133);
  const Sharding ranged = shard({.ranks = 1, .cu_seqlens = kEnds, .positions = PositionRange{7}});
  EXPECT_EQ(ranged.ranks[0].positions[3], 9.0);
}

TEST(Deal, EachWayIsWhatItIsCalled) {
  const auto rows = [](const ShardArgs& args, std::size_t rank) { return shard(args).ranks[rank].rows; };
  EXPECT_EQ(rows({.ranks = 3, .dealing = Dealing::contiguous, .tokens = 10}, 1), counted(3, 3));
  const std::vector<std::int64_t> uneven{7, 0, 3};
  EXPECT_EQ(rows({.ranks = 3, .dealing = Dealing::contiguous, .tokens = 10, .rank_tokens = uneven}, 2), counted(3, 7));
  EXPECT_EQ(rows({.ranks = 2, .tokens = 8}, 0), (std::vector<std::int64_t>{0, 1, 6, 7}));
  EXPECT_EQ(rows({.ranks = 2, .tokens = 8}, 1), (std::vector<std::int64_t>{2, 3, 4, 5}));
  EXPECT_EQ(rows({.ranks = 2, .dealing = Dealing::striped, .tokens = 5}, 0), (std::vector<std::int64_t>{0, 2, 4}));
  EXPECT_EQ(rows({.ranks = 2, .dealing = Dealing::striped, .tokens = 5, .block = 2}, 0),
            (std::vector<std::int64_t>{0, 1, 4}));
  // Of a work that is all in the last block, that rank gets it and the other the rest that fits.
  const std::vector<double> work{0.0, 0.0, 1.0, 9.0};
  const ShardArgs weighed{.ranks = 2,
                          .dealing = Dealing::balanced,
                          .tokens = 4,
                          .block = 1,
                          .mask = {.kind = MaskKind::sparse},
                          .token_work = work};
  EXPECT_EQ(rows(weighed, 0), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(rows(weighed, 1), (std::vector<std::int64_t>{0, 2}));
}

TEST(Deal, JoinedNeighboursHoldWhatTheyHeld) {
  const std::vector<std::int64_t> positions = counted(1000);
  const Sharding four = shard({.ranks = 4, .cu_seqlens = kEnds, .positions = positions});
  const Sharding two = joined(four, 2);
  ASSERT_EQ(std::ssize(two.ranks), 2);
  for (std::size_t r = 0; r < 2; ++r) {
    std::vector<std::int64_t> rows = four.ranks[2 * r].rows;
    rows.insert(rows.end(), four.ranks[2 * r + 1].rows.begin(), four.ranks[2 * r + 1].rows.end());
    std::ranges::sort(rows);
    EXPECT_EQ(two.ranks[r].rows, rows);
    EXPECT_EQ(two.ranks[r].cu_seqlens.back(), std::ssize(rows));
    for (std::size_t n = 0; n < rows.size(); ++n) {
      EXPECT_EQ(two.ranks[r].positions[n], static_cast<double>(rows[n]));
      EXPECT_EQ(two.ranks[r].positions[rows.size() + n], static_cast<double>(500 + rows[n]));
    }
  }
  const Sharding one = joined(four, 4);
  EXPECT_EQ(one.ranks[0].rows, counted(500));
  EXPECT_EQ(one.ranks[0].cu_seqlens, kEnds);
  EXPECT_EQ(one.places, counted(500));
  EXPECT_ERROR(joined(four, 3), "[joined] neighbours must divide 4 ranks but is 3");
}

TEST(Deal, RefusesWhatDoesNotFit) {
  const std::vector<std::int32_t> late{1, 2};
  const std::vector<std::int32_t> falling{0, 5, 3};
  const std::vector<std::int64_t> three(3);
  const std::vector<std::int64_t> minus{5, -1};
  const std::vector<double> nan{0.0, NAN};
  EXPECT_ERROR(shard({.ranks = 0, .tokens = 4}), "[shard] ranks must be from 1 to 65536 but is 0");
  EXPECT_ERROR(shard({.ranks = 1 << 30, .tokens = 4}), "[shard] ranks must be from 1 to 65536 but is 1073741824");
  EXPECT_ERROR(shard({.tokens = -1}), "[shard] tokens must be from 0 to 2147483647 but is -1");
  EXPECT_ERROR(shard({.cu_seqlens = late}), "[shard] cu_seqlens must begin with 0 but is 1");
  EXPECT_ERROR(shard({.cu_seqlens = falling}), "[shard] cu_seqlens[2] must be at least 5 but is 3");
  EXPECT_ERROR(shard({.tokens = 4, .order = three}), "[shard] order must have 4 numbers but is 3 long");
  EXPECT_ERROR(shard({.tokens = 4, .positions = three}),
               "[shard] positions must be of 4 tokens on each axis but is 3 long");
  EXPECT_ERROR(shard({.ranks = 2, .dealing = Dealing::contiguous, .tokens = 4, .rank_tokens = minus}),
               "[shard] rank_tokens must add up to 4 but is with 5");
  EXPECT_ERROR(shard({.ranks = 2, .tokens = 4, .rank_tokens = minus}),
               "[shard] rank_tokens must be omitted but where dealing is contiguous but is given");
  EXPECT_ERROR(shard({.dealing = Dealing::balanced, .tokens = 4, .mask = {.kind = MaskKind::sparse}}),
               "[shard] mask must be causal, bidirectional or prefix, which orders decide but is sparse");
  EXPECT_ERROR(shard({.dealing = Dealing::balanced, .tokens = 2, .token_work = nan}),
               "[shard] token_work must be from 0 to 1e15 but is nan");
}

TEST(Deal, OfNothingIsNothing) {
  const Sharding dealt = shard({.ranks = 3});
  EXPECT_EQ(dealt.documents, 1);
  for (const Shard& own : dealt.ranks) EXPECT_TRUE(own.rows.empty());
}

}  // namespace
}  // namespace posenc::test::deal_test
