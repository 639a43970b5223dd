// The loop over tiles of the backward pass, FlashAttention-2 (arXiv 2307.08691, algorithm 2): some queries of the heads
// of a GQA group, over all keys that they see.
//
//   for each tile of keys:  for each block of lanes that sees any of it:
//     s = q k, terms, mask, caps             as attend makes them: attend/tile_terms.h
//     p = exp(s - lse),  d = p (v d_out - delta), through the caps      kernels/gradient_loop.h
//     d_v += p d_out,  terms' transposes (tile_gradients.h),  d_q += d k,  d_k += d q
//
// The five products are kernels/product_loop.h: lanes are queries for scores and d_q, channels for d_k and d_v. What
// the unit has summed of a tile's keys goes to the call's sums in turn (task_order.h), and so do, at its end, gradients
// of tables.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "cpu/attend/far_tiles.h"
#include "cpu/attend/tile_products.h"
#include "cpu/backward/backward_call.h"
#include "cpu/backward/gradient_block.h"
#include "cpu/backward/row_rotations.h"
#include "cpu/backward/task_order.h"
#include "cpu/backward/tile_gradients.h"
#include "cpu/call/keep_going.h"

namespace posenc::cpu {

// Queries first_row .. first_row + rows - 1 of a sequence, of the query heads of a KV head.
struct BackwardUnit {
  std::size_t sequence = 0;
  std::int64_t kv_head = 0;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t before = -1;  // the unit before it of the same KV head
  bool shares_keys = false;  // which has the same keys
};

// All of a call, in the order in which they are begun.
std::vector<BackwardUnit> backward_units(const BackwardCall& backward);

// Where one thread works.
class BackwardWorker {
 public:
  BackwardWorker(BackwardCall& backward, std::span<const BackwardUnit> units, const FarTiles& far, TaskOrder& order,
                 KeepGoing& keep_going, std::pmr::memory_resource* memory);

  // One unit from its first tile to its last: d_q is written, all else added to the call's sums.
  void run(std::int64_t number);

 private:
  void begin(const BackwardUnit& unit);
  void find_carries(const BackwardUnit& unit, GradientBlock& block);
  void place(const BackwardUnit& unit, std::int64_t tile);
  bool is_seen_by(const GradientBlock& block);
  void pass_block(GradientBlock& block, std::int64_t tile);
  void make_scores(GradientBlock& block, float* scores);
  void add_to_queries_and_keys(GradientBlock& block, bool is_careful);
  void add_region(GradientBlock& block, std::int64_t region, const float* d, bool is_careful);
  void add_tile(const BackwardUnit& unit, std::int64_t tile);
  void finish_block(GradientBlock& block);
  void finish_terms(GradientBlock& block);
  void write_queries(GradientBlock& block);
  void add_sums(const BackwardUnit& unit);

  BackwardCall& backward_;
  const AttendCall& call_;
  std::span<const BackwardUnit> units_;
  const FarTiles& far_;
  TaskOrder& order_;
  KeepGoing& keep_going_;
  RowScratch scratch_;
  RowRotations angles_;
  GradientScratch gradients_;
  KeyTile tile_;
  FloatProducts products_;
  std::pmr::vector<GradientBlock> blocks_;
  std::size_t used_ = 0;
  std::int64_t number_ = 0;
  KeyGradients keys_;
  bool has_keys_ = false;  // keys_ hold something of the tile
  std::vector<TermSums> of_terms_;
  TermSums of_values_;
  std::vector<double> of_sinks_;  // [group]
  FrequencySums of_frequencies_;
  // [kTileKeys][lanes]
  AlignedFloats scores_, d_, of_region_, capped_, content_, of_gates_, gate_places_, scaled_;
  AlignedFloats decayed_, decayed_rows_, product_;    // xPos
  std::vector<float> decay_;                          // [head_dim]
  std::vector<char> meets_;                           // of each region, whether some score of the tile is in it
  AlignedFloats rows_, more_rows_, rotated_, given_;  // [lanes][key_width]
};

}  // namespace posenc::cpu
