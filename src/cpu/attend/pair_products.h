// The two products of a tile in bfloat16 (kernels/pairs.h), where the call allows that: which it is, attend_call.cpp
// says.
//
// Queries are not scaled before they are rounded but their scores after, so that queries and keys that were in bfloat16
// give exact products. Weights are rounded, and what is divided by in the end is the sum of those rounded: then an
// output is still a mean of values, and of weights p that are each off by d of themselves it is off by sum p d (v -
// out), not by sum p d v. The logarithm of the sum is that of exact weights.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "cpu/attend/tile_products.h"

namespace posenc::cpu {

class PairProducts final : public TileProducts {
 public:
  PairProducts(const AttendCall& call, std::pmr::memory_resource* memory);

  // scores[m][l] = row_scale[l] q[l] k[m], of the queries in `block.pairs`; a call with regions never comes here.
  void multiply_keys(const LaneBlock& block, KeyTile& tile, std::size_t region, const float* q, float* scores) override;
  // out[l] = rescale[l] out[l] + sum over m of p[m][l] v[m], and the block's divisor alike
  void add_values(LaneBlock& block, KeyTile& tile, const float* p, const float* rescale) override;

 private:
  const AttendCall& call_;
  std::pmr::vector<std::uint32_t> weights_;  // [kTileKeys / 2][lanes]
};

}  // namespace posenc::cpu
