// shard_work(): scores and tiles of them between the queries of each rank and the keys of each. A query sees an
// interval of orders, so its pairs are what two searches leave of a rank's sorted orders.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "base/formatted.h"
#include "cpu/attend/lane_block.h"
#include "posenc/distributed/shard.h"
#include "posenc/error.h"
#include "shard/document_rows.h"

namespace posenc::cpu {

SeenOrders seen_by(const std::int64_t* orders, std::int64_t count, const Mask& mask, std::int64_t prefix) {
  SeenOrders out{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  for (std::int64_t n = 0; n < count; ++n) {
    const Orders own = visible_orders(mask, prefix, orders[n]);
    out = {std::min(out.low, own.low), std::max(out.high, own.high)};
  }
  return out;
}

std::int64_t count_tiles(const std::int64_t* keys, std::int64_t count, const SeenOrders& seen) {
  std::int64_t tiles = 0;
  for (std::int64_t first = 0; first < count; first += kShardTile) {
    const std::int64_t* const end = keys + std::min(first + kShardTile, count);
    const auto [least, greatest] = std::minmax_element(keys + first, end);
    if (*least <= seen.high && *greatest >= seen.low) ++tiles;
  }
  return tiles;
}

std::int64_t DocumentRows::tiles_of(const RowRange& block, const Mask& mask, std::int64_t prefix) const {
  const std::int64_t first = ends[index(block.document)];
  const SeenOrders seen = seen_by(order.data() + block.first, block.end - block.first, mask, prefix);
  return count_tiles(order.data() + first, ends[index(block.document + 1)] - first, seen);
}

void require_mask_by_order(const char* where, const Mask& mask) {
  if (mask.kind != MaskKind::sparse) return;
  throw Error(where, {"mask", "be causal, bidirectional or prefix, which orders decide", "sparse"});
}

std::int64_t pairs_of_rows(const std::int64_t* queries, std::int64_t count, const std::vector<std::int64_t>& keys,
                           const Mask& mask, std::int64_t prefix) {
  std::int64_t pairs = 0;
  for (std::int64_t n = 0; n < count; ++n) {
    const Orders seen = visible_orders(mask, prefix, queries[n]);
    const auto low = std::ranges::lower_bound(keys, seen.low);
    const auto high = std::ranges::upper_bound(keys, seen.high);
    pairs += std::max<std::int64_t>(high - low, 0);
  }
  return pairs;
}

namespace {

double imbalance(const ShardWork& work, const std::vector<std::int64_t>& counts) {
  std::int64_t most = 0;
  std::int64_t all = 0;
  for (std::int64_t q = 0; q < work.query_ranks; ++q) {
    const auto own = counts.begin() + q * work.key_ranks;
    const std::int64_t sum = std::accumulate(own, own + work.key_ranks, std::int64_t{0});
    most = std::max(most, sum);
    all += sum;
  }
  return all == 0 ? 1.0 : static_cast<double>(most) * static_cast<double>(work.query_ranks) / static_cast<double>(all);
}

}  // namespace
}  // namespace posenc::cpu

namespace posenc::inline v0_2 {

using cpu::index;

ShardWork shard_work(const Sharding& queries, const Sharding& keys, const Mask& mask, std::int64_t prefix) {
  constexpr const char* kWhere = "shard_work";
  if (queries.documents != keys.documents) {
    throw Error(kWhere, {"keys", formatted("have the {} documents of the queries", queries.documents),
                         formatted("of {}", keys.documents)});
  }
  cpu::require_mask_by_order(kWhere, mask);
  ShardWork out{.query_ranks = std::ssize(queries.ranks), .key_ranks = std::ssize(keys.ranks)};
  out.pairs.resize(index(out.query_ranks * out.key_ranks));
  out.tiles.resize(out.pairs.size());
  for (std::size_t s = 0; s < keys.ranks.size(); ++s) {
    const Shard& of_keys = keys.ranks[s];
    for (std::size_t d = 0; d < index(keys.documents); ++d) {
      const std::int64_t first = of_keys.cu_seqlens[d];
      const std::int64_t count = of_keys.cu_seqlens[d + 1] - first;
      if (count == 0) continue;
      const std::int64_t* const as_they_lie = of_keys.order.data() + first;
      std::vector<std::int64_t> sorted(as_they_lie, as_they_lie + count);
      std::ranges::sort(sorted);
      for (std::size_t q = 0; q < queries.ranks.size(); ++q) {
        const Shard& of_queries = queries.ranks[q];
        const std::size_t place = q * keys.ranks.size() + s;
        for (std::int64_t row = of_queries.cu_seqlens[d]; row < of_queries.cu_seqlens[d + 1]; row += cpu::kShardTile) {
          const std::int64_t* const own = of_queries.order.data() + row;
          const std::int64_t rows = std::min<std::int64_t>(cpu::kShardTile, of_queries.cu_seqlens[d + 1] - row);
          const std::int64_t pairs = cpu::pairs_of_rows(own, rows, sorted, mask, prefix);
          out.pairs[place] += pairs;
          if (pairs > 0)
            out.tiles[place] += cpu::count_tiles(as_they_lie, count, cpu::seen_by(own, rows, mask, prefix));
        }
      }
    }
  }
  return out;
}

double tile_imbalance(const ShardWork& work) { return cpu::imbalance(work, work.tiles); }
double pair_imbalance(const ShardWork& work) { return cpu::imbalance(work, work.pairs); }

}  // namespace posenc::inline v0_2
