// The two products of a tile where the lanes of a KV head are few: a token's keys and values are read once for all
// lanes of all KV heads of a block, as they lie in the caller's tensor. Keys rotate while they are multiplied, in
// registers; keys of several rotations, and values, some rows of some heads at a time, in L1.
//
// Angles of a tile are made once for all its heads. Where its positions j go up by one from j0, they need not be made
// at all: what counts is the distance,
//
//   R(i) q . R(j) k = R(i - j0) q . R(j - j0) k
//
// so that the keys of every tile rotate by 0, 1, 2, ... steps, and the queries, which are fewer, anew for each tile. i
// - j0 is exact in double, and each side is rounded as often as it would be on its own.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "cpu/attend/tile_products.h"

namespace posenc::cpu {

class DecodeProducts final : public TileProducts {
 public:
  DecodeProducts(const AttendCall& call, std::pmr::memory_resource* memory);

  // As TileProducts has them; queries and outputs are [lanes][channels] here.
  void multiply_keys(const LaneBlock& block, KeyTile& tile, std::size_t region, const float* q, float* scores) override;
  void add_values(LaneBlock& block, KeyTile& tile, const float* p, const float* rescale) override;
  // Of the n-th KV head of the block alone, with the same bits.
  void add_values_of_head(LaneBlock& block, KeyTile& tile, std::int64_t n, const float* p, const float* rescale);

 private:
  // KV heads of a block.
  struct Heads {
    std::int64_t first;
    std::int64_t count;
  };
  // cos and sin of each rotation: [kTileKeys][2 pairs], or nothing where it does not rotate these rows.
  using AngleTables = std::pmr::vector<std::pmr::vector<float>>;

  void reserve_rows();
  // The identity above holds for this block and tile. queries_from: the queries for it; beside_rotated: those for keys
  // that rotate by their own angles, in the order of channels that kernels::LoadRotation wants.
  bool rotates_by_steps(const LaneBlock& block, const KeyTile& tile) const;
  const float* queries_from(const LaneBlock& block, const KeyTile& tile);
  const float* beside_rotated(const LaneBlock& block, const float* q);
  void write_key_angles(const KeyTile& tile, std::size_t region);
  void write_value_angles(const KeyTile& tile);
  void add_values_of(LaneBlock& block, KeyTile& tile, const Heads& heads, const float* p, const float* rescale);
  // use(product, first, lane): some rows of the tile, from `first` on, for all of these heads of the block, or those
  // whose lanes begin there. Null: they do not rotate. A product of codes says which; floats that were made of them are
  // as any floats.
  template <typename Use>
  void for_rows(const LaneBlock& block, const Heads& heads, const KeyTile& tile, const RowsView& given_rows,
                std::int64_t channels, const AngleTables* angles, const Use& use);
  // Some rows of some heads of the tile, from row `first` and KV head `head` of the block on, as floats that are
  // rotated where there are angles.
  void make_floats(const KeyTile& tile, const RowsView& x, std::int64_t first, std::int64_t head,
                   const AngleTables* angles, kernels::DecodeLanes& rows);

  const AttendCall& call_;
  RowScratch scratch_;
  AngleTables steps_, of_keys_, of_values_;
  bool keys_rotate_ = false;
  std::pmr::vector<const float*> cos_;  // of rows that rotate together
  std::pmr::vector<float> queries_;     // [lanes][head_dim], beside what decode_dots rotates
  std::pmr::vector<float> rows_;        // [kRotatedRows][kRotatedHeads][channels]
};

}  // namespace posenc::cpu
