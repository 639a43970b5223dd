// The rows of a batch by document, and how much of a mask a block of them has: what dealing weighs and counts.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/lower/weight_reader.h"
#include "posenc/plan.h"

namespace posenc::cpu {

// Rows of one document.
struct RowRange {
  std::int64_t document = 0;
  std::int64_t first = 0;
  std::int64_t end = 0;
};

// Keys of a tile of attend.
constexpr std::int64_t kShardTile = 64;

struct DocumentRows {
  std::vector<std::int64_t> ends;   // [documents + 1]
  std::vector<std::int64_t> order;  // [tokens]

  // Tiles of kShardTile keys of the document, as they lie, of which any row of the block may see some.
  std::int64_t tiles_of(const RowRange& block, const Mask& mask, std::int64_t prefix) const;
};

// What some queries see together: the least and the greatest order that any of them may.
struct SeenOrders {
  std::int64_t low;
  std::int64_t high;
};
SeenOrders seen_by(const std::int64_t* orders, std::int64_t count, const Mask& mask, std::int64_t prefix);

// Tiles of `keys` orders of which some lie among those that are seen.
std::int64_t count_tiles(const std::int64_t* keys, std::int64_t count, const SeenOrders& seen);

// Pairs of these queries and keys that the mask permits. keys: in the order of orders, as searches look through them.
std::int64_t pairs_of_rows(const std::int64_t* queries, std::int64_t count, const std::vector<std::int64_t>& keys,
                           const Mask& mask, std::int64_t prefix);

// Throws Error for a mask that is no function of orders.
void require_mask_by_order(const char* where, const Mask& mask);

}  // namespace posenc::cpu
