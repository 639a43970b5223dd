// The loop over chunks of linear attention: one KV head of one sequence, and the query heads that share it.
//
//   for each chunk of rows:
//     k = f(k), k~ = R k                                                 once for all query heads
//     for each query head:  q = f(q), q~ = R q
//       out = (q~ S + keep(q~ k~^T) v) / (q . (z + sum of keep(k)))      keep: keys that the row sees, of its own chunk
//     S += k~^T v, z += sum of k                                         linear_sums.h
//
// Where all keys are seen, S and z have all of them first, and no row has keys of its own chunk.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/attend/attend_call.h"
#include "cpu/call/keep_going.h"
#include "cpu/linear/linear_rows.h"
#include "cpu/linear/linear_sums.h"
#include "posenc/attend_linear.h"

namespace posenc::cpu {

// A whole number of registers' lanes on every instruction set, and three of the widest.
inline constexpr std::int64_t kChunkRows = 48;

// Rows of a chunk that meet its keys together: those after the last of them are omitted.
inline constexpr std::int64_t kMeetingRows = 16;

// Where one thread works.
class LinearWorker {
 public:
  LinearWorker(const AttendCall& call, kernels::Feature feature, const LinearState& state, KeepGoing& keep_going);

  // Writes out and the state; nothing of use once the call is not wanted any more.
  void attend(std::int64_t sequence, std::int64_t kv_head);

 private:
  // A KV head of a sequence, with the query heads that share it.
  struct Unit {
    const math::SequenceRows& rows;
    std::int64_t kv_head;
  };
  // Rows of the unit's queries, and the keys of their chunk: row r sees key m where m + before <= r. The first
  // `unseeing` rows see nothing at all.
  struct Chunk {
    std::int64_t row = 0;
    std::int64_t rows = 0;
    std::int64_t before = 0;
    std::int64_t unseeing = 0;
    ChunkKeys keys{};
  };

  // Whether to go on; keep_going is asked once every so many heads.
  bool is_wanted();
  void add_keys(const Unit& unit, std::int64_t first, std::int64_t end);
  ChunkKeys read_keys(const Unit& unit, std::int64_t first, std::int64_t count);
  // Whether they are finite.
  bool read_values(std::int64_t first, std::int64_t head, std::int64_t count);
  void put_keys_in_lanes(const ChunkKeys& keys);
  void attend_head(const Unit& unit, std::int64_t head, const Chunk& chunk);
  void sum_totals(const Chunk& chunk);
  void sum_products(const Chunk& chunk);
  // Rows first .. first + rows - 1 of the chunk, and its keys key .. key + count - 1.
  void add_own_keys(const Chunk& chunk, std::int64_t first, std::int64_t rows, std::int64_t key, std::int64_t count);
  void write(std::int64_t row, std::int64_t head, std::int64_t rows);
  float* out_of(const ValueColumn& column) { return out_.data() + column.place * kChunkRows; }

  const AttendCall& call_;
  const LinearState& state_;
  KeepGoing& keep_going_;
  std::int64_t heads_since_asked_ = 0;
  LinearSums sums_;
  // Of the chunk: all query heads of the group meet the same keys.
  LinearRows keys_, queries_;
  std::vector<float> values_;         // ChunkKeys::values
  std::vector<float> key_lanes_;      // rotated keys, as many as a product has lanes: [head_dim][lanes], and the next
  std::vector<float> scores_;         // [kMeetingRows][lanes]
  std::vector<float> out_;            // [columns][kChunkRows][lanes], not yet divided
  std::vector<float> totals_;         // [kChunkRows]: what it is divided by
  std::vector<float> running_, row_;  // [head_dim], [value_dim]
};

}  // namespace posenc::cpu
