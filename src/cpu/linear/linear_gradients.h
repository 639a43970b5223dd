// The loops of linear attention's backward pass: one KV head of one sequence, and the query heads that share it.
//
//   queries, from the first chunk to the last:         S = sum of k~ v^T, z = sum of k over the keys seen
//     dn = d_out / t,  d_q~ = S dn,  dt = - (q~ . d_q~) / t,  d_q = (R^T d_q~ + dt z) f'(q)
//   keys, from the last chunk to the first:            G = sum of q~ dn^T, g = sum of dt q over the queries that see
//     d_v = G^T k~,  d_k = (R^T G v + g) f'(k)
//
// q~ . d_q~ is dn . n, so neither outputs nor numerators are needed. Within a chunk queries meet keys by matrices of 48
// rows, whose elements of keys that are not seen are 0. Where all keys are seen, S and z have all of them first, G and
// g all queries, and no chunk meets itself. Formulas: posenc/attend_linear.h.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "cpu/attend/attend_call.h"
#include "cpu/backward/row_rotations.h"
#include "cpu/call/keep_going.h"
#include "cpu/linear/linear_rows.h"
#include "posenc/attend_linear.h"

namespace posenc::cpu {

// What a call is, besides what attend_linear has of it; read by all threads.
struct LinearBackward {
  const AttendLinearBackwardArgs& args;
  const AttendCall& call;
  kernels::Feature feature;
  RowsView d_out{}, d_q{}, d_k{}, d_v{};
  bool wants_frequencies = false;

  bool wants_keys() const { return !args.d_k.empty() || !args.d_v.empty() || wants_frequencies; }
};

// Where one thread works.
class LinearGradients {
 public:
  LinearGradients(const LinearBackward& backward, KeepGoing& keep_going);

  // Writes d_q of the query heads, d_k and d_v; adds to `frequencies`, or null. Nothing of use once the call is not
  // wanted any more.
  void run(std::int64_t sequence, std::int64_t kv_head, FrequencySums* frequencies);

 private:
  using Floats = std::vector<float>;
  // Rows of queries, and the keys of their chunk, of which row r sees the first r - before + 1.
  struct Chunk {
    std::int64_t row = 0;  // of the sequence's queries
    std::int64_t rows = 0;
    std::int64_t key = 0;  // of the sequence's keys
    std::int64_t keys = 0;
    std::int64_t before = 0;

    std::int64_t seen(std::int64_t r) const;
  };

  bool is_wanted();
  Chunk chunk_at(std::int64_t row) const;
  void read_keys(std::int64_t first, std::int64_t count);
  void read_queries(const Chunk& chunk, std::int64_t head);
  void divide_gradients(const Chunk& chunk, std::int64_t head);

  void pass_queries(const Chunk& chunk, std::int64_t head);
  void sum_totals(const Chunk& chunk, std::int64_t head);
  void finish_queries(const Chunk& chunk, std::int64_t head);
  void add_keys(std::int64_t count);

  void begin_keys(std::int64_t count);
  void pass_keys(const Chunk& chunk, std::int64_t head);
  void add_row(const Chunk& chunk, std::int64_t head, std::int64_t r);
  void add_queries(const Chunk& chunk, std::int64_t head);
  void finish_keys(std::int64_t first, std::int64_t count);

  bool are_finite(const float* x, std::int64_t rows, std::int64_t width);
  // Weights' gradients of the chunk, dn v^T, 0 where a key is not seen.
  void multiply_values(const Chunk& chunk);
  void clear_unseen(const Chunk& chunk, Floats& matrix) const;
  // c[r][l] = sum_k a[r][k] b[k][l], added to c or not; b and c have rows of `width` floats, whole registers.
  struct Operand {
    const float* data;
    std::int64_t row;
    std::int64_t step;
  };
  void multiply(const Operand& a, const float* b, std::int64_t b_row, float* c, std::int64_t c_row, std::int64_t rows,
                std::int64_t depth, std::int64_t width, bool adds) const;
  void add_to_sum(Floats& sum) const;
  void write(const float* row, std::int64_t channels, const RowsView& to, std::int64_t at, std::int64_t head) const;
  float& total(std::int64_t head, std::int64_t row);
  float& of_total(std::int64_t head, std::int64_t row);

  const LinearBackward& backward_;
  const AttendCall& call_;
  KeepGoing& keep_going_;
  std::int64_t heads_since_asked_ = 0;
  const math::SequenceRows* sequence_ = nullptr;
  std::int64_t kv_head_ = 0;
  FrequencySums* frequencies_ = nullptr;
  bool is_causal_ = false;

  std::int64_t key_width_, value_width_;  // channels in whole registers
  LinearRows keys_, queries_;
  RowRotations rotations_;
  Floats ones_;                   // [kMaxLanes]
  Floats k_, k_lanes_;            // of the chunk's keys, rotated: [keys][key_width]; [head_dim][kChunkRows]
  Floats v_, v_lanes_;            // [keys][value_width]; [value_dim][kChunkRows]
  Floats q_, dn_;                 // of the chunk's queries: [rows][key_width], rotated; [rows][value_width]
  Floats d_q_;                    // [rows][key_width]
  Floats weights_, of_weights_;   // [rows][kChunkRows]
  Floats d_k_lanes_, d_v_lanes_;  // [head_dim][kChunkRows]; [value_dim][kChunkRows]
  Floats d_features_;             // of keys, [keys][head_dim]
  Floats sum_, running_;          // S and z: [value_dim][key_width], [head_dim]
  Floats sum_of_queries_, running_of_queries_;  // G and g
  Floats sum_of_chunk_, of_features_;           // a chunk's part of both
  Floats rows_, given_, scratch_;               // [kChunkRows][channels], or key_width apart
  Floats totals_, d_totals_;                    // of each query of the heads: [group][queries]
  Floats zeros_;
  bool keys_are_finite_ = true;
  bool queries_are_finite_ = true;
};

}  // namespace posenc::cpu
