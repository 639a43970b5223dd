// QK^T and PV of a tile in float: keys [tokens][head_dim] times queries [head_dim][lanes], and values, read as
// [value_dim][tokens], times weights [tokens][lanes].
#include "cpu/attend/tile_products.h"

namespace posenc::cpu {

void FloatProducts::multiply_keys(const LaneBlock& block, KeyTile& tile, std::size_t region, const float* q,
                                  float* scores) {
  const FloatRows keys = tile.keys(region);
  call_.attention.product({.a = keys.data,
                           .a_row = keys.stride,
                           .a_step = 1,
                           .b = q,
                           .c = scores,
                           .rows = tile.count(),
                           .depth = call_.layer.head_dim,
                           .lanes = block.lanes});
}

// Values are read across: a row of the product is a channel, one step of it a key.
void FloatProducts::add_values(LaneBlock& block, KeyTile& tile, const float* p, const float* rescale) {
  const FloatRows values = tile.values();
  call_.attention.product({.a = values.data,
                           .a_row = 1,
                           .a_step = values.stride,
                           .b = p,
                           .c = block.out.data(),
                           .scale = rescale,
                           .rows = call_.layer.value_dim,
                           .depth = tile.count(),
                           .lanes = block.lanes});
}

}  // namespace posenc::cpu
