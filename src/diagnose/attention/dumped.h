// A dump of one sequence as doubles: the queries that are looked at, and all keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "posenc/diagnose_attention.h"

namespace posenc::inline v0_2::port {

struct DumpedAttention {
  std::size_t heads = 0;
  std::size_t kv_heads = 0;  // of k and v as they are here: the layer's
  std::size_t queries = 0;   // that are looked at
  std::size_t keys = 0;
  std::size_t head_dim = 0;
  std::size_t value_dim = 0;
  std::vector<std::int64_t> q_order, k_order;  // [queries], [keys]
  std::int64_t last_order = 0;                 // of the call's last query, and its number of queries
  std::int64_t all_queries = 0;
  std::vector<double> q;        // [queries, heads, head_dim]
  std::vector<double> k;        // [keys, kv_heads, head_dim]
  std::vector<double> v;        // [keys, kv_heads, value_dim] or empty
  std::vector<double> scores;   // [heads, queries, keys] or empty; minus infinity where hidden
  std::vector<double> weights;  // [heads, queries, keys] or empty
  std::vector<double> out;      // [queries, heads, value_dim] or empty
  std::vector<char> given;      // [queries, keys]: seen by attn_mask; empty: all
  bool masked = false;          // scores hide keys
  bool k_in_turn = false;       // k's heads were KV heads repeated in turn: 0, 1, 0, 1
  bool v_in_turn = false;
  bool rotates = false;  // queries and keys were dumped before their rotation
  // Half of the distance between 1 and the next number of the coarsest of q, k and v; and of the others.
  double unit = 0.0;
  double scores_unit = 0.0, weights_unit = 0.0, out_unit = 0.0;

  std::size_t at(std::size_t h, std::size_t i, std::size_t j) const { return (h * queries + i) * keys + j; }
};

// Throws Error for what does not fit.
DumpedAttention dumped_attention(const AttentionDumpArgs& args);

}  // namespace posenc::inline v0_2::port
