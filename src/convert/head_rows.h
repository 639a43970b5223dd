// Where the rows of each head lie in a projection, by the family of the model: side by side, or fused with others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/plan.h"

namespace posenc::conversion {

// Heads of one kind, queries' or keys', in one tensor.
struct HeadRows {
  bool keys = false;
  std::vector<std::int64_t> starts;  // the row of channel 0, of each head
  std::int64_t channels = 0;         // of a head
  std::int64_t first_channel = 0;    // that rotates
  std::int64_t dim = 0;              // that rotate
};

// A whole projection: its rows, and whose they are.
struct ProjectionRows {
  std::int64_t rows = 0;
  std::vector<HeadRows> heads;
};

// What a layer's heads are like.
struct HeadSizes {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t rows = 0;  // of a head in the file: head_dim, or with its padding
  std::int64_t first_channel = 0;
  std::int64_t dim = 0;
};

ProjectionRows query_rows(const HeadSizes& sizes);
ProjectionRows key_rows(const HeadSizes& sizes);
// Queries with a gate for each of their channels beside each head: twice as many rows (Qwen 3 Next).
ProjectionRows gated_query_rows(const HeadSizes& sizes);
// A tensor of one head for all, or with so many rows of another kind before it.
ProjectionRows shared_rows(const HeadSizes& sizes, bool keys);

enum class FusedOrder : std::uint8_t {
  one_after_another,  // all queries, all keys, all values
  by_kv_head,         // of each KV head its queries, its key, its value
  by_quarter,         // of each quarter of the heads its queries, its values, its keys (CodeGen)
};
// Of queries, keys and values in one tensor; nothing for a family whose order is not known here.
std::optional<FusedOrder> fused_order(const Plan& plan, std::string_view stack, const HeadSizes& sizes);
ProjectionRows fused_rows(const HeadSizes& sizes, FusedOrder order);

// Whether the family's queries may have gates.
bool may_have_gates(const Plan& plan);
// Whether the family has layers whose values are their keys (Gemma 4), which an adapter's tensors do not show.
bool may_share_keys_as_values(const Plan& plan);

}  // namespace posenc::conversion
