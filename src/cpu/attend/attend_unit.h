// The loop over tiles of FlashAttention (arXiv 2205.14135): some queries of the heads that share a KV head (a GQA
// group), over some of the keys. Scores are never kept beyond one tile.
//
//   for each tile of keys:  for each block of lanes that sees any of it:
//     s = q k, content terms, mask, cap, bias terms, cap      tile_terms.h
//     p = exp(s - max), sum += p                              kernels/score_loop.h
//     out = rescale out + p v
//
// Tiles are outside, so that keys are converted and rotated once for all blocks. By which products a block
// goes (decode, bfloat16, float) is chosen when its unit begins: tile_products.h.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "cpu/attend/attend_call.h"
#include "cpu/attend/decode_products.h"
#include "cpu/attend/far_tiles.h"
#include "cpu/attend/key_tile.h"
#include "cpu/attend/lane_block.h"
#include "cpu/attend/pair_products.h"
#include "cpu/attend/tile_products.h"
#include "cpu/attend/tile_terms.h"
#include "cpu/call/keep_going.h"

namespace posenc::cpu {

// Queries first_row .. first_row + rows - 1 of a sequence, of all query heads of its KV heads.
struct AttendUnit {
  std::size_t sequence = 0;
  std::int64_t kv_head = 0;    // the first
  std::int64_t kv_heads = 1;   // several, at decode (few queries): a token's keys of all heads lie together
  std::int64_t first_row = 0;  // of the sequence's queries
  std::int64_t rows = 0;
};

// Beside at most so many queries, what takes time is that keys and values come from memory.
inline constexpr std::int64_t kDecodeQueries = 16;

// Of a call's sequences. `decode_heads`: KV heads of a unit with few queries; it divides their number, and changes no
// result.
std::vector<AttendUnit> attend_units(const AttendCall& call, std::int64_t decode_heads);

// Floats of what a pass over a unit has summed.
std::int64_t state_size(const AttendCall& call, const AttendUnit& unit);

// Where one thread works. It stays where it is once a unit has begun: its blocks point to its products.
class AttendWorker {
 public:
  // Takes from `memory` all that it needs for any of the units.
  AttendWorker(const AttendCall& call, std::span<const AttendUnit> units, const FarTiles& far, KeepGoing& keep_going,
               std::pmr::memory_resource* memory);

  // Reads and rotates the unit's queries; nothing has been seen yet.
  void begin(const AttendUnit& unit);
  // Keys first .. end - 1 of the sequence; nothing, or a part of it, once the call is not wanted any more.
  void pass_over(const AttendUnit& unit, std::int64_t first, std::int64_t end);
  // Writes out, lse and carry.
  void finish();

  // What has been seen so far, out of the worker and back: to join passes over parts of the keys.
  void save(float* to) const;
  void join(const float* from);

  AttendWork work{};

 private:
  void attend_tile(LaneBlock& block);
  void add_values(LaneBlock& block, const Hidden& hidden, const float* rescale);
  void begin_decode(const AttendUnit& unit);
  void begin_block(const BlockLanes& lanes);

  const AttendCall& call_;
  const FarTiles& far_;
  KeepGoing& keep_going_;
  std::int64_t tiles_since_asked_ = 0;
  RowScratch scratch_;
  TermScratch terms_;
  KeyTile tile_;
  FloatProducts floats_;
  DecodeProducts decode_;
  PairProducts pairs_;
  // The unit's blocks are the first used_ of them.
  std::pmr::vector<LaneBlock> blocks_;
  std::size_t used_ = 0;
  // [kTileKeys][lanes]: a tile's scores, those of another region, what gates add; [head_dim][lanes]: queries with xPos'
  // decay towards the tile.
  std::pmr::vector<float> scores_, of_region_, of_gates_, decayed_;
};

}  // namespace posenc::cpu
