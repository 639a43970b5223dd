// shard_cost(): what each rank computes, sends and holds. With U ranks that deal heads, of H heads and K KV heads
// (docs/distributed.md), rank u of its group computes H_u heads, which read K_u KV heads, of the group's rows; b_q and
// b_k are bytes of an element, d and e channels of a head and of its values, n rows of queries and m of keys:
//
//   keys and values         m K_u (d + e) b_k, to each group whose queries see any of them; in runs, each run so
//   their gradients         m K_u (d + e) 4, back to where they came from
//   heads dealt             n (H - H_u) d b_q + m (sum of K_u' of the others) (d + e) b_k, within the group
//   and put back            (n of the others) H_u (e b_q + 4)
#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "base/formatted.h"
#include "posenc/distributed/shard.h"
#include "posenc/error.h"
#include "shard/document_rows.h"

namespace posenc::inline v0_2 {
namespace {

using cpu::index;

constexpr std::int64_t kNumber = 4;  // bytes of f32, and of a segment

struct Counting {
  const LayerPlan& layer;
  const Sharding& queries;
  const Sharding& keys;
  const ShardCostArgs& args;
  std::int64_t dealt;  // ranks of a group
  Sharding q_groups{};
  Sharding k_groups{};
  ShardWork work{};
  Sharding pieces{};                   // of keys, which travel together
  std::vector<std::int64_t> owners{};  // the group of each
  ShardWork of_pieces{};

  std::int64_t group() const { return layer.heads / layer.kv_heads; }
  HeadRange heads(std::int64_t place) const { return heads_of_rank(layer.heads, dealt, place); }
  std::int64_t head_count(std::int64_t place) const { return heads(place).end - heads(place).first; }
  std::int64_t kv_head_count(std::int64_t place) const {
    const HeadRange own = kv_heads_of(heads(place), group());
    return own.end - own.first;
  }
  std::int64_t channels() const { return layer.head_dim + layer.value_dim; }
  static std::int64_t rows(const Sharding& x, std::int64_t rank) { return std::ssize(x.ranks[index(rank)].rows); }

  // Of one key, for so many heads.
  std::int64_t key_bytes(std::int64_t heads, std::int64_t kv_heads) const {
    return kv_heads * channels() * args.key_bytes + (args.has_forget_gates ? heads * kNumber : 0) +
           (args.has_segments ? kNumber : 0);
  }
  std::int64_t key_gradient_bytes(std::int64_t heads, std::int64_t kv_heads) const {
    return kv_heads * channels() * kNumber + (args.has_forget_gates ? heads * kNumber : 0);
  }
  std::int64_t query_bytes(std::int64_t heads) const {
    return heads * layer.head_dim * args.query_bytes + (args.has_row_gates ? heads * kNumber : 0) +
           (args.has_segments ? kNumber : 0);
  }
  // The output and its lse; gradients of both.
  std::int64_t output_bytes(std::int64_t heads) const { return heads * (layer.value_dim * args.query_bytes + kNumber); }
  std::int64_t query_gradient_bytes(std::int64_t heads) const {
    return heads * layer.head_dim * args.query_bytes + (args.has_row_gates ? heads * kNumber : 0);
  }

  // What of a group's keys another needs, in pieces that travel together: rows of each.
  std::vector<std::int64_t> needed(std::int64_t query_group, std::int64_t key_group) const {
    std::vector<std::int64_t> out;
    for (std::size_t piece = 0; piece < owners.size(); ++piece) {
      if (owners[piece] != key_group || of_pieces.pairs_of(query_group, static_cast<std::int64_t>(piece)) == 0)
        continue;
      out.push_back(rows(pieces, static_cast<std::int64_t>(piece)));
    }
    return out;
  }

  // Ranks compute nothing of heads that they do not have, and are sent nothing.
  void add_blocks(std::int64_t own, std::int64_t place, RankCost& to) const {
    to.held_keys = rows(k_groups, own);
    if (head_count(place) == 0) return;
    std::vector<std::int64_t> others;
    for (std::int64_t other = 0; other < std::ssize(q_groups.ranks); ++other) {
      if (other == own) continue;
      for (const std::int64_t count : needed(other, own)) {
        to.forward_sent += count * key_bytes(to.heads, to.kv_heads);
        to.backward_sent += count * key_bytes(to.heads, to.kv_heads);
      }
      for (const std::int64_t count : needed(own, other)) {
        others.push_back(count);
        to.backward_sent += count * key_gradient_bytes(to.heads, to.kv_heads);
      }
    }
    std::ranges::sort(others, std::greater<>());
    const std::size_t at_a_time =
        args.mode == ContextMode::all_gather ? others.size() : std::min<std::size_t>(2, others.size());
    for (std::size_t n = 0; n < at_a_time; ++n) to.held_keys += others[n];
  }

  void add_heads(std::int64_t rank, std::int64_t place, RankCost& to) const {
    const std::int64_t q_rows = rows(queries, rank);
    const std::int64_t k_rows = rows(keys, rank);
    for (std::int64_t other = 0; other < dealt; ++other) {
      const std::int64_t theirs = head_count(other);
      if (other == place) continue;
      const std::int64_t neighbour = rank - place + other;
      const std::int64_t neighbours_queries = rows(queries, neighbour);
      const std::int64_t neighbours_keys = rows(keys, neighbour);
      if (theirs > 0) {
        to.forward_sent += q_rows * query_bytes(theirs) + k_rows * key_bytes(theirs, kv_head_count(other));
        to.backward_sent += q_rows * output_bytes(theirs);
      }
      if (to.heads > 0) {
        to.forward_sent += neighbours_queries * output_bytes(to.heads);
        to.backward_sent += neighbours_queries * query_gradient_bytes(to.heads) +
                            neighbours_keys * key_gradient_bytes(to.heads, to.kv_heads);
      }
    }
  }
};

}  // namespace

HeadRange heads_of_rank(std::int64_t heads, std::int64_t ranks, std::int64_t place) {
  return {heads * place / ranks, heads * (place + 1) / ranks};
}

HeadRange kv_heads_of(const HeadRange& heads, std::int64_t group) {
  if (heads.first == heads.end) return {};
  return {heads.first / group, (heads.end + group - 1) / group};
}

std::string_view name(ContextMode mode) noexcept {
  switch (mode) {
    case ContextMode::ring: return "ring";
    case ContextMode::all_gather: return "all_gather";
    case ContextMode::ulysses: return "ulysses";
    case ContextMode::hybrid: return "hybrid";
  }
  return "";
}

std::vector<RankCost> shard_cost(const LayerPlan& layer, const Sharding& queries, const Sharding& keys,
                                 const Mask& mask, std::int64_t prefix, const ShardCostArgs& args) {
  constexpr const char* kWhere = "shard_cost";
  const std::int64_t ranks = std::ssize(queries.ranks);
  if (std::ssize(keys.ranks) != ranks) {
    throw Error(kWhere, {"keys", formatted("be dealt to the {} ranks of the queries", ranks),
                         formatted("to {}", keys.ranks.size())});
  }
  if (layer.heads < 1 || layer.kv_heads < 1 || layer.heads % layer.kv_heads != 0) {
    throw Error(kWhere,
                {"layer.heads", "be a multiple of layer.kv_heads", formatted("{} of {}", layer.heads, layer.kv_heads)});
  }
  std::int64_t dealt = 1;
  if (args.mode == ContextMode::ulysses) dealt = ranks;
  if (args.mode == ContextMode::hybrid) dealt = args.ulysses_ranks;
  if (dealt < 1 || ranks % dealt != 0) {
    throw Error(kWhere, {"ulysses_ranks", formatted("divide {} ranks", ranks), formatted("{}", dealt)});
  }
  Counting counting{layer, queries, keys, args, dealt, joined(queries, dealt), joined(keys, dealt)};
  counting.work = shard_work(counting.q_groups, counting.k_groups, mask, prefix);
  const bool in_runs = args.sums_along_keys && args.mode != ContextMode::all_gather && dealt < ranks;
  if (in_runs) {
    ShardRuns runs;
    try {
      runs = runs_of(counting.k_groups);
    } catch (const Error& error) {  // the name of the call that was made
      throw Error(kWhere, error.problem());
    }
    counting.pieces = std::move(runs.runs);
    counting.owners = std::move(runs.owners);
    counting.of_pieces = shard_work(counting.q_groups, counting.pieces, mask, prefix);
  } else {
    counting.pieces = counting.k_groups;
    counting.owners.resize(counting.pieces.ranks.size());
    std::iota(counting.owners.begin(), counting.owners.end(), std::int64_t{0});
    counting.of_pieces = counting.work;
  }
  std::vector<RankCost> out(index(ranks));
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    RankCost& to = out[index(rank)];
    const std::int64_t own = rank / dealt;
    const std::int64_t place = rank % dealt;
    to.query_rows = counting.rows(counting.q_groups, own);
    to.heads = counting.head_count(place);
    to.kv_heads = counting.kv_head_count(place);
    for (std::int64_t other = 0; other < counting.work.key_ranks; ++other) {
      to.pairs += counting.work.pairs_of(own, other);
      to.tiles += counting.work.tiles_of(own, other);
    }
    to.flops = 2.0 * static_cast<double>(to.pairs) * static_cast<double>(to.heads * counting.channels());
    counting.add_blocks(own, place, to);
    counting.add_heads(rank, place, to);
  }
  return out;
}

}  // namespace posenc::inline v0_2
