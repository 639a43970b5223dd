// QK^T and PV of a tile in bfloat16, by AVX512_BF16 or AMX (kernels/pairs.h): packs queries, keys, weights and values
// in pairs and calls the kernel. pair_products.h says what is rounded and what is divided by.
#include "cpu/attend/pair_products.h"

#include "cpu/lower/weight_reader.h"

namespace posenc::cpu {

static_assert(kTileKeys == kernels::kPairColumns && kTileKeys % (2 * kernels::kPairRows) == 0);

PairProducts::PairProducts(const AttendCall& call, std::pmr::memory_resource* memory) : call_(call), weights_(memory) {
  if (call.value_pairs != nullptr) weights_.resize(index(kTileKeys / 2 * call.max_lanes));
}

void PairProducts::multiply_keys(const LaneBlock& block, KeyTile& tile, std::size_t /*region*/, const float* /*q*/,
                                 float* scores) {
  const PairedRows keys = tile.paired_keys();
  beside_fetches<2 * kernels::kPairRows>(tile, call_.k, call_.layer.head_dim, tile.count(),
                                         [&](std::int64_t first, std::int64_t rows) {
                                           call_.score_pairs->product({.a = keys.data + first * keys.stride,
                                                                       .a_row = keys.stride,
                                                                       .b = block.pairs.data(),
                                                                       .c = scores + first * block.lanes,
                                                                       .by = block.row_scale.data(),
                                                                       .rows = rows,
                                                                       .depth = whole(call_.layer.head_dim, 2),
                                                                       .lanes = block.lanes});
                                         });
}

// The kernel that rounds the weights also adds up what they were rounded to: the divisor.
void PairProducts::add_values(LaneBlock& block, KeyTile& tile, const float* p, const float* rescale) {
  for (std::int64_t l = 0; l < block.lanes; ++l) block.divisor[index(l)] *= rescale[l];
  call_.value_pairs->rows(
      {.x = p, .rows = tile.count(), .lanes = block.lanes, .to = weights_.data(), .sum = block.divisor.data()});
  const PairedRows values = tile.paired_values();
  const std::int64_t channels = call_.layer.value_dim;
  beside_fetches<2 * kernels::kPairRows>(tile, call_.v, channels, channels, [&](std::int64_t first, std::int64_t rows) {
    call_.value_pairs->product({.a = values.data + first * values.stride,
                                .a_row = values.stride,
                                .b = weights_.data(),
                                .c = block.out.data() + first * block.lanes,
                                .scale = rescale,
                                .rows = rows,
                                .depth = whole(tile.count(), 2),
                                .lanes = block.lanes});
  });
}

}  // namespace posenc::cpu
