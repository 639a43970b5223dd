// How a batch is dealt to ranks, in C, by the conventions of c.h: shard.h beside this says what is dealt how.
#ifndef POSENC_DISTRIBUTED_C_H
#define POSENC_DISTRIBUTED_C_H
// NOLINTBEGIN(readability-identifier-naming): C has its own style

#include "posenc/c.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t posenc_dealing;
enum { POSENC_DEAL_CONTIGUOUS = 0, POSENC_DEAL_ZIGZAG = 1, POSENC_DEAL_STRIPED = 2, POSENC_DEAL_BALANCED = 3 };

typedef struct posenc_sharding posenc_sharding;

// Members are those of ShardArgs in shard.h.
typedef struct posenc_shard_args {
  size_t size;
  int64_t ranks;
  posenc_dealing dealing;
  int32_t reserved;
  int64_t tokens;
  const int32_t* cu_seqlens;
  int64_t cu_seqlens_count;
  const int64_t* order;
  int64_t order_count;
  const posenc_positions* positions;  // NULL: the order
  const int64_t* rank_tokens;
  int64_t rank_tokens_count;
  int64_t block;
  const posenc_mask* mask;  // NULL: causal
  int64_t prefix;
  const double* token_work;
  int64_t token_work_count;
} posenc_shard_args;
#define POSENC_SHARD_ARGS_INIT \
  { .size = sizeof(posenc_shard_args), .ranks = 1 }

POSENC_API posenc_status posenc_shard(const posenc_shard_args* args, posenc_sharding** sharding);
POSENC_API void posenc_sharding_free(posenc_sharding* sharding);

// What one rank holds, Shard in shard.h: the handle's own memory, until it is freed.
typedef struct posenc_rank_rows {
  size_t size;
  int64_t count;
  int64_t documents_count;
  int64_t axes;               // of positions; 0: none but the orders
  const int64_t* rows;        // [count]
  const int64_t* order;       // [count]
  const int32_t* documents;   // [count]
  const int32_t* cu_seqlens;  // [documents_count + 1]
  const double* positions;    // [axes, count]
} posenc_rank_rows;
#define POSENC_RANK_ROWS_INIT \
  { .size = sizeof(posenc_rank_rows) }

POSENC_API posenc_status posenc_sharding_rank(const posenc_sharding* sharding, int64_t rank, posenc_rank_rows* rows);
// Row t of the batch is row places[t] of the ranks' rows, one rank after another: [tokens], the handle's own memory.
POSENC_API posenc_status posenc_sharding_places(const posenc_sharding* sharding, const int64_t** places,
                                                int64_t* tokens);

typedef int32_t posenc_context_mode;
enum { POSENC_RING = 0, POSENC_ALL_GATHER = 1, POSENC_ULYSSES = 2, POSENC_HYBRID = 3 };

// Members are those of ShardCostArgs in shard.h; plan, stack, layer and mask as for posenc_attend.
typedef struct posenc_shard_cost_args {
  size_t size;
  const posenc_plan* plan;
  const char* stack;
  int64_t layer;
  const posenc_mask* mask;
  int64_t prefix;
  const posenc_sharding* queries;
  const posenc_sharding* keys;  // NULL: those of the queries
  posenc_context_mode mode;
  int32_t has_forget_gates;
  int32_t has_row_gates;
  int32_t has_segments;
  int32_t sums_along_keys;
  int32_t reserved;
  int64_t ulysses_ranks;
  int64_t query_bytes;
  int64_t key_bytes;
} posenc_shard_cost_args;
#define POSENC_SHARD_COST_ARGS_INIT \
  { .size = sizeof(posenc_shard_cost_args), .ulysses_ranks = 1, .query_bytes = 4, .key_bytes = 4 }

// RankCost in shard.h.
typedef struct posenc_rank_cost {
  int64_t query_rows;
  int64_t pairs;
  int64_t tiles;
  int64_t heads;
  int64_t kv_heads;
  double flops;
  int64_t forward_sent;
  int64_t backward_sent;
  int64_t held_keys;
} posenc_rank_cost;

// costs: written, one for each rank; `count` is how many these are.
POSENC_API posenc_status posenc_shard_cost(const posenc_shard_cost_args* args, posenc_rank_cost* costs, int64_t count);

#ifdef __cplusplus
}
#endif

// NOLINTEND(readability-identifier-naming)
#endif
