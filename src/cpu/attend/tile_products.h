// The two products of one tile and one block, QK^T and PV. There are three ways to multiply: decode_products.h along
// the channels where the lanes of a KV head are few, pair_products.h in bfloat16, and FloatProducts along the lanes. A
// block of lanes is given its two when a unit begins (AttendWorker::begin_block).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/attend/attend_call.h"
#include "cpu/attend/key_tile.h"
#include "cpu/attend/lane_block.h"

namespace posenc::cpu {

class TileProducts {
 public:
  // scores[m][l] = q[l] k[m], keys rotated as in `region`. `q` are the block's queries of that region.
  virtual void multiply_keys(const LaneBlock& block, KeyTile& tile, std::size_t region, const float* q,
                             float* scores) = 0;
  // out[l] = rescale[l] out[l] + sum over m of p[m][l] v[m]
  virtual void add_values(LaneBlock& block, KeyTile& tile, const float* p, const float* rescale) = 0;

 protected:
  ~TileProducts() = default;
};

// multiply(first, count) for kRows rows of a product at a time. Before each, a part of what is read after this tile is
// prefetched: all at once would find the processor's line fill buffers full.
template <std::int64_t kRows, typename Multiply>
void beside_fetches(const KeyTile& tile, const RowsView& x, std::int64_t channels, std::int64_t rows,
                    const Multiply& multiply) {
  const std::int64_t parts = (rows + kRows - 1) / kRows;
  for (std::int64_t n = 0; n < parts; ++n) {
    tile.fetch_ahead(x, channels, n, parts);
    multiply(n * kRows, std::min(kRows, rows - n * kRows));
  }
}

// In float, the lanes of a block side by side in registers (kernels/product_loop.h): prefill.
class FloatProducts final : public TileProducts {
 public:
  explicit FloatProducts(const AttendCall& call) : call_(call) {}

  void multiply_keys(const LaneBlock& block, KeyTile& tile, std::size_t region, const float* q, float* scores) override;
  void add_values(LaneBlock& block, KeyTile& tile, const float* p, const float* rescale) override;

 private:
  const AttendCall& call_;
};

}  // namespace posenc::cpu
