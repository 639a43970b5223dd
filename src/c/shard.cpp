// Dealing to ranks from C: posenc_shard and what is asked of its handle.
#include "posenc/distributed/shard.h"

#include <algorithm>
#include <string>

#include "c/arguments.h"
#include "c/masked_layer.h"
#include "c/status.h"
#include "posenc/distributed/c.h"

struct posenc_sharding {
  posenc::Sharding sharding;
};

namespace posenc::c {
namespace {

constexpr const char* kShard = "posenc_shard";
constexpr const char* kRank = "posenc_sharding_rank";
constexpr const char* kPlaces = "posenc_sharding_places";
constexpr const char* kCost = "posenc_shard_cost";

Dealing dealing_of(posenc_dealing dealing) {
  if (dealing >= POSENC_DEAL_CONTIGUOUS && dealing <= POSENC_DEAL_BALANCED) return static_cast<Dealing>(dealing);
  throw Error(kShard, {"dealing", "be a POSENC_DEAL_", std::to_string(dealing)});
}

ContextMode mode_of(posenc_context_mode mode) {
  if (mode >= POSENC_RING && mode <= POSENC_HYBRID) return static_cast<ContextMode>(mode);
  throw Error(kCost,
              {"mode", "be POSENC_RING, POSENC_ALL_GATHER, POSENC_ULYSSES or POSENC_HYBRID", std::to_string(mode)});
}

Sharding sharding_of(const posenc_shard_args& given) {
  require_reserved(kShard, "reserved", given.reserved);
  ShardArgs args{.ranks = given.ranks,
                 .dealing = dealing_of(given.dealing),
                 .tokens = given.tokens,
                 .cu_seqlens = list(kShard, "cu_seqlens", given.cu_seqlens, given.cu_seqlens_count),
                 .order = list(kShard, "order", given.order, given.order_count),
                 .positions = positions_if(kShard, "positions", given.positions),
                 .rank_tokens = list(kShard, "rank_tokens", given.rank_tokens, given.rank_tokens_count),
                 .block = given.block,
                 .prefix = given.prefix,
                 .token_work = list(kShard, "token_work", given.token_work, given.token_work_count)};
  if (given.mask != nullptr) args.mask = mask_of(kShard, sized(kShard, "mask", given.mask));
  return shard(args);
}

std::vector<RankCost> costs_of(const posenc_shard_cost_args& given) {
  require_reserved(kCost, "reserved", given.reserved);
  LayerPlan changed;
  const LayerPlan& layer = masked_layer(kCost, given, changed);
  const Sharding& queries = required(kCost, "queries", given.queries).sharding;
  const Sharding& keys = given.keys == nullptr ? queries : given.keys->sharding;
  return shard_cost(layer, queries, keys, layer.mask, given.prefix,
                    {.mode = mode_of(given.mode),
                     .ulysses_ranks = given.ulysses_ranks,
                     .query_bytes = given.query_bytes,
                     .key_bytes = given.key_bytes,
                     .has_forget_gates = given.has_forget_gates != 0,
                     .has_row_gates = given.has_row_gates != 0,
                     .has_segments = given.has_segments != 0,
                     .sums_along_keys = given.sums_along_keys != 0});
}

}  // namespace
}  // namespace posenc::c

namespace c = posenc::c;

posenc_status posenc_shard(const posenc_shard_args* args, posenc_sharding** sharding) {
  return c::guarded([&] {
    const posenc_shard_args& given = c::sized(c::kShard, "args", args);
    posenc_sharding*& to = c::required(c::kShard, "sharding", sharding);
    to = new posenc_sharding{c::sharding_of(given)};
  });
}

void posenc_sharding_free(posenc_sharding* sharding) { delete sharding; }

posenc_status posenc_sharding_rank(const posenc_sharding* sharding, int64_t rank, posenc_rank_rows* rows) {
  return c::guarded([&] {
    const posenc::Sharding& of = c::required(c::kRank, "sharding", sharding).sharding;
    posenc_rank_rows& to = c::sized(c::kRank, "rows", rows);
    if (rank < 0 || rank >= std::ssize(of.ranks)) {
      throw posenc::Error(c::kRank,
                          {"rank", "be from 0 to " + std::to_string(of.ranks.size() - 1), std::to_string(rank)});
    }
    const posenc::Shard& own = of.ranks[static_cast<std::size_t>(rank)];
    to.count = std::ssize(own.rows);
    to.documents_count = of.documents;
    to.axes = of.axes;
    to.rows = own.rows.data();
    to.order = own.order.data();
    to.documents = own.documents.data();
    to.cu_seqlens = own.cu_seqlens.data();
    to.positions = own.positions.data();
  });
}

posenc_status posenc_sharding_places(const posenc_sharding* sharding, const int64_t** places, int64_t* tokens) {
  return c::guarded([&] {
    const posenc::Sharding& of = c::required(c::kPlaces, "sharding", sharding).sharding;
    c::required(c::kPlaces, "places", places) = of.places.data();
    if (tokens != nullptr) *tokens = of.tokens;
  });
}

posenc_status posenc_shard_cost(const posenc_shard_cost_args* args, posenc_rank_cost* costs, int64_t count) {
  return c::guarded([&] {
    const std::vector<posenc::RankCost> found = c::costs_of(c::sized(c::kCost, "args", args));
    const auto to = c::list(c::kCost, "costs", costs, count);
    if (to.size() != found.size()) {
      throw posenc::Error(
          c::kCost, {"count", "be " + std::to_string(found.size()) + ", one for each rank", std::to_string(count)});
    }
    std::ranges::transform(found, to.begin(), [](const posenc::RankCost& cost) {
      return posenc_rank_cost{cost.query_rows, cost.pairs,        cost.tiles,         cost.heads,    cost.kv_heads,
                              cost.flops,      cost.forward_sent, cost.backward_sent, cost.held_keys};
    });
  });
}
