// The cost of a dealing, worked out by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "posenc/distributed/shard.h"
#include "support/throws.h"

namespace posenc::test::cost_test {
namespace {

LayerPlan layer_of(std::int64_t heads, std::int64_t kv_heads) {
  return {.heads = heads, .kv_heads = kv_heads, .head_dim = 8, .value_dim = 4, .softmax_scale = 1.0};
}

// 4 ranks of 10 tokens, causal: rank r sees keys of r and of all before.
TEST(ShardCost, OfARing) {
  const Sharding dealt = shard({.ranks = 4, .dealing = Dealing::contiguous, .tokens = 40});
  const std::vector<RankCost> cost =
      shard_cost(layer_of(6, 2), dealt, dealt, {}, 0, {.query_bytes = 2, .key_bytes = 2, .has_forget_gates = true});
  constexpr std::int64_t kBlock = 10 * (2 * (8 + 4) * 2 + 6 * 4);
  constexpr std::int64_t kGradient = 10 * (2 * (8 + 4) * 4 + 6 * 4);
  for (std::int64_t r = 0; r < 4; ++r) {
    const RankCost& own = cost[static_cast<std::size_t>(r)];
    EXPECT_EQ(own.query_rows, 10);
    EXPECT_EQ(own.pairs, 10 * 10 * r + 55);
    EXPECT_EQ(own.flops, 2.0 * static_cast<double>(own.pairs) * 6 * 12);
    EXPECT_EQ(own.forward_sent, (3 - r) * kBlock);
    EXPECT_EQ(own.backward_sent, (3 - r) * kBlock + r * kGradient);
    EXPECT_EQ(own.held_keys, 10 + 10 * std::min<std::int64_t>(r, 2));
  }
  const std::vector<RankCost> gathered =
      shard_cost(layer_of(6, 2), dealt, dealt, {}, 0, {.mode = ContextMode::all_gather});
  EXPECT_EQ(gathered[3].held_keys, 40);
  // A window of 5 leaves all but the neighbour out.
  const std::vector<RankCost> near =
      shard_cost(layer_of(6, 2), dealt, dealt, {.kind = MaskKind::causal, .window = Window{.past = 4}}, 0, {});
  EXPECT_EQ(near[0].forward_sent, 10 * 2 * 12 * 4);
  EXPECT_EQ(near[3].forward_sent, 0);
}

// Zigzag of 8 parts of 5: rank 0 has parts 0 and 7. Causal queries of rank 1 (1 and 6) need part 0 of it alone; all
// ranks need part 1.
TEST(ShardCost, OfKeysInRuns) {
  const Sharding dealt = shard({.ranks = 4, .tokens = 40});
  const ShardRuns runs = runs_of(dealt);
  EXPECT_EQ(runs.owners, (std::vector<std::int64_t>{0, 1, 2, 3, 2, 1, 0}));
  EXPECT_EQ(runs.runs.ranks[3].rows, (std::vector<std::int64_t>{15, 16, 17, 18, 19, 20, 21, 22, 23, 24}));
  const std::vector<RankCost> cost = shard_cost(layer_of(6, 2), dealt, dealt, {}, 0, {.sums_along_keys = true});
  EXPECT_EQ(cost[0].forward_sent, 5 * 3 * 2 * 12 * 4);
  EXPECT_EQ(cost[1].forward_sent, (5 * 3 + 5) * 2 * 12 * 4);  // its part 6 to rank 0
  const Sharding striped = shard({.ranks = 2, .dealing = Dealing::striped, .tokens = 40});
  const std::string rule =
      "] sharding must deal neighbours together, contiguous or zigzag, for a scheme that sums along the keys but is with "
      "more than 4 runs";
  EXPECT_ERROR((void)list_runs(striped), ("[list_runs" + rule).c_str());
  EXPECT_ERROR((void)runs_of(striped), ("[runs_of" + rule).c_str());
  EXPECT_ERROR((void)shard_cost(layer_of(6, 2), striped, striped, {}, 0, {.sums_along_keys = true}), ("[shard_cost" + rule).c_str());
  const std::vector<std::int64_t> falling{0, 2, 1, 3};
  EXPECT_ERROR(runs_of(shard({.ranks = 2, .tokens = 4, .order = falling})),
               "[runs_of] order must ascend in each document, since gates are summed along it but is 1 after 2");
}

// 6 heads on 4 ranks: 1, 2, 1, 2 of them. 2 KV heads of 3: each rank reads one but for the second, whose heads 1 and 2
// are of KV head 0, and the third, whose head 3 is the first of KV head 1.
TEST(ShardCost, OfDealtHeads) {
  EXPECT_EQ(heads_of_rank(6, 4, 0), (HeadRange{0, 1}));
  EXPECT_EQ(heads_of_rank(6, 4, 1), (HeadRange{1, 3}));
  EXPECT_EQ(kv_heads_of({1, 3}, 3), (HeadRange{0, 1}));
  EXPECT_EQ(kv_heads_of({2, 4}, 3), (HeadRange{0, 2}));
  EXPECT_EQ(kv_heads_of({3, 3}, 3), (HeadRange{0, 0}));
  const Sharding dealt = shard({.ranks = 4, .tokens = 40});
  const std::vector<RankCost> cost = shard_cost(layer_of(6, 2), dealt, dealt, {}, 0, {.mode = ContextMode::ulysses});
  const std::vector<std::int64_t> heads{1, 2, 1, 2};
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(cost[r].heads, heads[r]);
    EXPECT_EQ(cost[r].kv_heads, 1);
    EXPECT_EQ(cost[r].query_rows, 40);
    EXPECT_EQ(cost[r].held_keys, 40);
    EXPECT_EQ(cost[r].pairs, 40 * 41 / 2);
    const std::int64_t sent = 10 * (6 - heads[r]) * 8 * 4 + 10 * 3 * 12 * 4;
    const std::int64_t back = 30 * heads[r] * (4 * 4 + 4);
    EXPECT_EQ(cost[r].forward_sent, sent + back);
    const std::int64_t gradients = 10 * (6 - heads[r]) * (4 * 4 + 4) + 30 * heads[r] * 8 * 4 + 30 * 12 * 4;
    EXPECT_EQ(cost[r].backward_sent, gradients);
  }
}

TEST(ShardCost, RefusesWhatDoesNotFit) {
  const Sharding four = shard({.ranks = 4, .tokens = 40});
  const Sharding two = shard({.ranks = 2, .tokens = 40});
  EXPECT_ERROR(shard_cost(layer_of(6, 2), four, four, {}, 0, {.mode = ContextMode::hybrid, .ulysses_ranks = 3}),
               "[shard_cost] ulysses_ranks must divide 4 ranks but is 3");
  EXPECT_ERROR(shard_cost(layer_of(6, 2), four, two, {}, 0, {}),
               "[shard_cost] keys must be dealt to the 4 ranks of the queries but is to 2");
  EXPECT_ERROR(shard_cost(layer_of(5, 2), four, four, {}, 0, {}),
               "[shard_cost] layer.heads must be a multiple of layer.kv_heads but is 5 of 2");
}

}  // namespace
}  // namespace posenc::test::cost_test
