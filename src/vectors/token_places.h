// Where the tokens of golden vectors stand: few of them, and on both sides of every edge of the layer's rules.
#pragma once

#include <cstdint>
#include <vector>

#include "posenc/plan.h"
#include "posenc/vectors.h"

namespace posenc::inline v0_2::golden {

struct TokenPlaces {
  std::vector<std::int64_t> order;                     // [tokens], ascending: what masks count
  std::vector<std::vector<std::int64_t>> coordinates;  // [axes][tokens]
  bool by_order = false;                               // one axis, and it is the order
  std::int64_t tokens() const { return static_cast<std::int64_t>(order.size()); }
};

// Throws Error for tokens and a start out of range, and for more tokens than a grid has cells.
TokenPlaces token_places(const LayerPlan& layer, const VectorOptions& options);

}  // namespace posenc::inline v0_2::golden
