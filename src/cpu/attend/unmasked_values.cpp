// PV lane by lane, with masked keys left out of the sum, for tiles with NaN or Inf among their values: 0 * NaN is NaN,
// so a matrix product would spread them to queries that do not see them.
#include "cpu/attend/unmasked_values.h"

#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {
namespace {

// Channel by channel, keys of weight 0 left out. In blocks whose weights are rounded to bfloat16 elsewhere, the divisor
// takes the exact ones of this tile.
void add_lane(const AttendCall& call, LaneBlock& block, KeyTile& tile, const float* p, const float* rescale,
              std::int64_t l) {
  const std::int64_t width = call.layer.value_dim;
  const FloatRows values = tile.values();
  for (std::int64_t c = 0; c < width; ++c) {
    float& out = block.out[block.place(c, l, width)];
    out *= rescale[l];
    for (std::int64_t m = 0; m < tile.count(); ++m) {
      const float weight = p[m * block.lanes + l];
      if (weight != 0.0F) out += weight * values.data[m * values.stride + c];
    }
  }
  if (call.value_pairs == nullptr || block.decode) return;
  block.divisor[index(l)] *= rescale[l];
  for (std::int64_t m = 0; m < tile.count(); ++m) block.divisor[index(l)] += p[m * block.lanes + l];
}

}  // namespace

void add_unmasked_values(const AttendCall& call, LaneBlock& block, KeyTile& tile, std::int64_t kv_head, const float* p,
                         const float* rescale) {
  tile.select_head(kv_head);
  for (std::int64_t l = 0; l < block.lanes; ++l) {
    if (block.lane[index(l)].head / call.group == kv_head) add_lane(call, block, tile, p, rescale, l);
  }
  tile.select_head(block.kv_head);
}

}  // namespace posenc::cpu
