// How the tokens of a batch of packed sequences are dealt to ranks that share their attention (context parallelism),
// and what each rank then has to compute and to send, before anything runs.
//
//   shard(args)            which rows each rank holds, with the order, the positions and the document of each
//   shard_work(q, k, ..)   how many scores, and tiles of scores, each rank has with the keys of each
//   shard_cost(work, ..)   what each rank sends, computes and holds, by mode
//
// A token keeps its order and its coordinates wherever it lies: attend (attend.h) is given them per token, so that a
// rank that holds rows 0 to 9 and 90 to 99 rotates and masks them as what they are. Ranks hold rows in ascending order,
// so documents stay together and cu_seqlens says where; a document of which a rank has nothing is empty there.
//
// Code: src/shard. docs/distributed.md has the formulas of the cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "posenc/export.h"
#include "posenc/plan.h"
#include "posenc/rotate.h"

namespace posenc::inline v0_2 {

enum class Dealing : std::uint8_t {
  contiguous,  // rank r has the rows from r n / R up to (r + 1) n / R
  zigzag,      // each document in 2 R parts, of which a rank has one and the one as far from the end (Llama 3, arXiv
               // 2407.21783, section 3.3.2); documents begin with ranks in turn, so that what does not divide evens out
  striped,     // blocks of each document in turn (Striped Attention, arXiv 2311.09431)
  balanced,    // blocks, as many to each rank, so that the tiles that the mask leaves to them add up alike
};
POSENC_API std::string_view name(Dealing dealing) noexcept;

struct ShardArgs {
  std::int64_t ranks = 1;
  Dealing dealing = Dealing::zigzag;
  std::int64_t tokens = 0;  // of the batch; with cu_seqlens its last number
  // Packed sequences, documents: d has the rows cu_seqlens[d] up to cu_seqlens[d + 1]. Omitted: one of all tokens.
  std::span<const std::int32_t> cu_seqlens{};   // [documents + 1]
  std::span<const std::int64_t> order{};        // [tokens], of the mask; omitted: counted from 0 in each document
  std::optional<Positions> positions{};         // [axes, tokens]; omitted: the order
  std::span<const std::int64_t> rank_tokens{};  // contiguous: how many each rank has, [ranks]; omitted: alike
  std::int64_t block = 0;                       // tokens that stay together: 0 is 1 where striped, 64 where balanced
  // balanced: what its query costs, by the mask; or [tokens], for masks that are no function of orders (attn_mask).
  Mask mask{};
  std::int64_t prefix = 0;  // MaskKind::prefix, as in LayerInputs
  std::span<const double> token_work{};
};

// What one rank holds.
struct Shard {
  std::vector<std::int64_t> rows;        // of the batch, ascending
  std::vector<std::int64_t> order;       // [rows]
  std::vector<std::int32_t> documents;   // [rows]
  std::vector<std::int32_t> cu_seqlens;  // [documents + 1], of these rows
  std::vector<double> positions;         // [axes, rows]; empty where the batch has none but its orders
};

struct Sharding {
  std::int64_t tokens = 0;
  std::int64_t documents = 0;
  std::int64_t axes = 0;  // of positions; 0: none but the orders
  std::vector<Shard> ranks;
  // The inverse: row t of the batch is row places[t] of the ranks' rows, one rank after another.
  std::vector<std::int64_t> places;
};

// Throws Error for what does not fit: ranks below 1 or above 65536, cu_seqlens that do not ascend from 0, as many
// orders or positions as there are no tokens, a mask that only attn_mask says (sparse) without token_work.
POSENC_API Sharding shard(const ShardArgs& args);

// Neighbours as one rank each, `neighbours` at a time: what they hold together. Throws Error where these do not divide
// the ranks.
POSENC_API Sharding joined(const Sharding& sharding, std::int64_t neighbours);

// Neighbouring rows of the batch that lie on one rank, in order: how keys travel for schemes that sum along them (CoPE,
// forget gates), whose parts are computed from the last to the first.
struct ShardRun {
  std::int64_t owner = 0;  // rank
  std::int64_t first = 0;  // among the owner's rows
  std::int64_t count = 0;  // of rows
  bool operator==(const ShardRun&) const = default;
};
// Throws Error for more than 2 of a rank and document, as striped and balanced dealing have, and for orders that do not
// ascend in a document. Takes memory by the count of runs, not of tokens.
POSENC_API std::vector<ShardRun> list_runs(const Sharding& sharding);

// The same with the rows of each.
struct ShardRuns {
  Sharding runs;                     // as if each were a rank
  std::vector<std::int64_t> owners;  // the rank of each
};
// Throws Error as list_runs does.
POSENC_API ShardRuns runs_of(const Sharding& sharding);

// The scores that the mask permits, between the queries of one rank and the keys of one: [ranks of q][ranks of k].
struct ShardWork {
  std::int64_t query_ranks = 0;
  std::int64_t key_ranks = 0;
  std::vector<std::int64_t> pairs;  // of a query and a key that it sees
  std::vector<std::int64_t> tiles;  // of 64 queries and 64 keys of a document, as they lie on their ranks, of which any
                                    // is seen

  // Throw std::out_of_range beyond the last entry.
  std::int64_t pairs_of(std::int64_t query_rank, std::int64_t key_rank) const {
    return pairs.at(static_cast<std::size_t>(query_rank * key_ranks + key_rank));
  }
  std::int64_t tiles_of(std::int64_t query_rank, std::int64_t key_rank) const {
    return tiles.at(static_cast<std::size_t>(query_rank * key_ranks + key_rank));
  }
};

// Of queries and keys of the same documents: the same sharding twice, or two of cross attention, whose orders are
// compared as they are. Throws Error for different numbers of documents, and a mask that only attn_mask says.
POSENC_API ShardWork shard_work(const Sharding& queries, const Sharding& keys, const Mask& mask,
                                std::int64_t prefix = 0);

// The largest tile count of a rank by their mean: 1 where all have as many. Of pairs likewise.
POSENC_API double tile_imbalance(const ShardWork& work);
POSENC_API double pair_imbalance(const ShardWork& work);

// How keys and queries meet. ring: keys and values go to each rank that sees any of them, block by block, while it
// computes (Ring Attention, arXiv 2310.01889); all_gather: the same, before it computes (Llama 3); ulysses: all tokens
// of some heads on each rank (DeepSpeed Ulysses, arXiv 2309.14509); hybrid: both (USP, arXiv 2405.07719).
enum class ContextMode : std::uint8_t { ring, all_gather, ulysses, hybrid };
POSENC_API std::string_view name(ContextMode mode) noexcept;

struct ShardCostArgs {
  ContextMode mode = ContextMode::ring;
  std::int64_t ulysses_ranks = 1;  // hybrid: of each group of neighbours that deal heads; 1 for ring, all for ulysses
  std::int64_t query_bytes = 4;    // of an element of q, and of the output
  std::int64_t key_bytes = 4;      // of k and v
  bool has_forget_gates = false;   // log_forget: f32, of each key and query head
  bool has_row_gates = false;      // row_gate: f32, of each query and head
  bool has_segments = false;       // q_segments, k_segments: 4 bytes a token
  bool sums_along_keys = false;    // ring, hybrid: keys travel in runs
};

struct RankCost {
  std::int64_t query_rows = 0;  // that it computes, of all tokens that its group has where heads are dealt
  std::int64_t pairs = 0;       // of each of its heads
  std::int64_t tiles = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  double flops = 0.0;             // of the products of the forward pass: 2 pairs heads (head_dim + value_dim)
  std::int64_t forward_sent = 0;  // bytes
  std::int64_t backward_sent = 0;
  std::int64_t held_keys = 0;  // rows of keys at a time, its own and those of others
};

// Of each rank; `layer`: its sizes. In f32 come back gradients of keys and values, and log-sum-exps. Throws Error for
// ranks that ulysses_ranks does not divide.
POSENC_API std::vector<RankCost> shard_cost(const LayerPlan& layer, const Sharding& queries, const Sharding& keys,
                                            const Mask& mask, std::int64_t prefix, const ShardCostArgs& args);

// The heads that the `place`-th of so many ranks computes, and the KV heads that these read: first and end of each.
struct HeadRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
  bool operator==(const HeadRange&) const = default;
};
POSENC_API HeadRange heads_of_rank(std::int64_t heads, std::int64_t ranks, std::int64_t place);
POSENC_API HeadRange kv_heads_of(const HeadRange& heads, std::int64_t group);

}  // namespace posenc::inline v0_2
