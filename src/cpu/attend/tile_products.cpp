// QK^T and PV of a tile in float: keys [tokens][head_dim] times queries [head_dim][lanes], and values, read as
// [value_dim][tokens], times weights [tokens][lanes].
#include "cpu/attend/tile_products.h"

namespace posenc::cpu {
namespace {

constexpr std::int64_t kRowsAtATime = 16;  // 8 took as long, 32 up to 1.05 times

}  // namespace

void FloatProducts::multiply_keys(const LaneBlock& block, KeyTile& tile, std::size_t region, const float* q,
                                  float* scores) {
  const FloatRows keys = tile.keys(region);
  beside_fetches<kRowsAtATime>(tile, call_.k, call_.layer.head_dim, tile.count(),
                               [&](std::int64_t first, std::int64_t rows) {
                                 call_.attention.product({.a = keys.data + first * keys.stride,
                                                          .a_row = keys.stride,
                                                          .a_step = 1,
                                                          .b = q,
                                                          .c = scores + first * block.lanes,
                                                          .rows = rows,
                                                          .depth = call_.layer.head_dim,
                                                          .lanes = block.lanes});
                               });
}

// Values are read across: a row of the product is a channel, one step of it a key.
void FloatProducts::add_values(LaneBlock& block, KeyTile& tile, const float* p, const float* rescale) {
  const FloatRows values = tile.values();
  const std::int64_t channels = call_.layer.value_dim;
  beside_fetches<kRowsAtATime>(tile, call_.v, channels, channels, [&](std::int64_t first, std::int64_t rows) {
    call_.attention.product({.a = values.data + first,
                             .a_row = 1,
                             .a_step = values.stride,
                             .b = p,
                             .c = block.out.data() + first * block.lanes,
                             .scale = rescale,
                             .rows = rows,
                             .depth = tile.count(),
                             .lanes = block.lanes});
  });
}

}  // namespace posenc::cpu
