// QK^T and PV of a tile in float: keys [tokens][head_dim] times queries [head_dim][lanes], and values, read as
// [value_dim][tokens], times weights [tokens][lanes].
#include "cpu/attend/tile_products.h"

#include <algorithm>
#include <array>

#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

constexpr std::int64_t kRowsAtATime = 16;  // 8 took as long, 32 up to 1.05 times

constexpr std::array<float, kMaxLanes> kOnes = [] {
  std::array<float, kMaxLanes> ones{};
  ones.fill(1.0F);
  return ones;
}();

// What each register of a block's lanes sees of a tile. Beside the diagonal of a causal mask the first ones see fewer
// keys: of a block of 48 queries, on its own keys, a third of the products is of scores that the mask hides.
class SeenKeys {
 public:
  SeenKeys(const AttendCall& call, const LaneBlock& block, const KeyTile& tile)
      : wide_(call.attention.register_lanes), registers_(block.lanes / wide_) {
    for (std::int64_t n = 0; n < registers_; ++n) seen_[index(n)] = tile.seen_up_to(block.last[index(n)]);
  }

  // Lanes from the first register on that sees a key or one after it, to the last; all, where none does. Keys from
  // there on that as many see.
  struct Lanes {
    std::int64_t first;
    std::int64_t count;
    std::int64_t keys;
  };
  Lanes from(std::int64_t key) const {
    std::int64_t first = 0;
    std::int64_t end = registers_;
    while (first < end && seen_[index(first)] <= key) ++first;
    if (first == end) return {0, registers_ * wide_, kTileKeys};
    while (seen_[index(end - 1)] <= key) --end;
    std::int64_t keys = kTileKeys;
    for (std::int64_t n = first; n < end; ++n) {
      if (seen_[index(n)] > key) keys = std::min(keys, seen_[index(n)] - key);
    }
    return {first * wide_, (end - first) * wide_, keys};
  }

 private:
  std::int64_t wide_;
  std::int64_t registers_;
  std::array<std::int64_t, kernels::kLaneRegisters> seen_{};
};

}  // namespace

// Scores that no lane of a register sees are not written: the mask hides them, whatever they are.
void FloatProducts::multiply_keys(const LaneBlock& block, KeyTile& tile, std::size_t region, const float* q,
                                  float* scores) {
  const FloatRows keys = tile.keys(region);
  const SeenKeys seen(call_, block, tile);
  beside_fetches<kRowsAtATime>(tile, call_.k, call_.layer.head_dim, tile.count(),
                               [&](std::int64_t first, std::int64_t rows) {
                                 for (std::int64_t key = first; key < first + rows;) {
                                   const SeenKeys::Lanes lanes = seen.from(key);
                                   const std::int64_t count = std::min(lanes.keys, first + rows - key);
                                   call_.attention.product({.a = keys.data + key * keys.stride,
                                                            .a_row = keys.stride,
                                                            .a_step = 1,
                                                            .b = q + lanes.first,
                                                            .c = scores + key * block.lanes + lanes.first,
                                                            .rows = count,
                                                            .depth = call_.layer.head_dim,
                                                            .lanes = lanes.count,
                                                            .b_row = block.lanes,
                                                            .c_row = block.lanes});
                                   key += count;
                                 }
                               });
}

// Values are read across: a row of the product is a channel, one step of it a key. Keys that a register does not see
// weigh nothing in it; where it sees none of the tile, its sums are as they were.
void FloatProducts::add_values(LaneBlock& block, KeyTile& tile, const float* p, const float* rescale) {
  const FloatRows values = tile.values();
  const std::int64_t channels = call_.layer.value_dim;
  const SeenKeys seen(call_, block, tile);
  beside_fetches<kRowsAtATime>(tile, call_.v, channels, channels, [&](std::int64_t first, std::int64_t rows) {
    for (std::int64_t key = 0; key < tile.count();) {
      const SeenKeys::Lanes lanes = seen.from(key);
      const std::int64_t keys = std::min(lanes.keys, tile.count() - key);
      call_.attention.product({.a = values.data + first + key * values.stride,
                               .a_row = 1,
                               .a_step = values.stride,
                               .b = p + key * block.lanes + lanes.first,
                               .c = block.out.data() + first * block.lanes + lanes.first,
                               .scale = (key == 0 ? rescale : kOnes.data()) + lanes.first,
                               .rows = rows,
                               .depth = keys,
                               .lanes = lanes.count,
                               .b_row = block.lanes,
                               .c_row = block.lanes});
      key += keys;
    }
  });
}

}  // namespace posenc::cpu
