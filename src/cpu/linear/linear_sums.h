// What keys of one head add up to in linear attention: S, the sum of k~ v^T, and z, the sum of k.
//
// S is kept in columns of channels of values, as many as products have lanes. A chunk of keys is summed before it is
// added: of n keys a sum then has rows + n / rows roundings one after another instead of n.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpu/attend/attend_call.h"
#include "posenc/attend_linear.h"

namespace posenc::cpu {

// Channels of values that are the lanes of one product.
struct ValueColumn {
  std::int64_t channel = 0;  // the first
  std::int64_t used = 0;
  std::int64_t lanes = 0;  // used, up to whole registers
  std::int64_t place = 0;  // lanes of the columns before
};

// Keys of a chunk.
struct ChunkKeys {
  std::int64_t count = 0;
  const float* plain = nullptr;    // [count][head_dim]: features
  const float* rotated = nullptr;  // likewise
  const float* values = nullptr;   // [columns][count][lanes], those beyond `used` 0
  bool are_finite = true;          // the values
};

// One thread's, for one KV head at a time.
class LinearSums {
 public:
  explicit LinearSums(const AttendCall& call);

  // From the caller's state, or zeros where there is none; and back.
  void begin(const LinearState& state, std::int64_t sequence, std::int64_t kv_head);
  void end(const LinearState& state, std::int64_t sequence, std::int64_t kv_head) const;

  // S += k~^T v and z += sum of k, over the keys of the chunk.
  void add(const ChunkKeys& keys);

  std::span<const ValueColumn> columns() const { return columns_; }
  std::int64_t lanes() const { return columns_.back().place + columns_.back().lanes; }  // of all columns
  const float* products(const ValueColumn& column) const {                              // [head_dim][lanes]
    return products_.data() + column.place * head_dim_;
  }
  const float* totals() const { return totals_.data(); }  // [head_dim]

 private:
  const kernels::AttentionKernels& kernels_;
  std::int64_t head_dim_;
  std::vector<ValueColumn> columns_;
  std::vector<float> products_, products_of_chunk_;
  std::vector<float> totals_, totals_of_chunk_;
};

}  // namespace posenc::cpu
