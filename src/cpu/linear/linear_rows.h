// Some rows of queries or keys of a head, as linear attention takes them: features f(x) for the denominator, and the
// same with RoPE applied, R f(x), for the numerator (RoFormer, arXiv 2104.09864, (19)).
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/attend/attend_call.h"
#include "cpu/attend/lane_block.h"

namespace posenc::cpu {

class LinearRows {
 public:
  // At most `most` rows, and no more than kTileKeys.
  LinearRows(const AttendCall& call, kernels::Feature feature, std::int64_t most);

  // Rows first ... first + count - 1 of the call's, of one head of q or k. plain() and rotated() are good until the
  // next call of it.
  void read(math::Side side, std::int64_t first, std::int64_t head, std::int64_t count);

  const float* plain() const { return plain_.data(); }  // [count][head_dim]
  // Likewise; the same memory as plain() in a layer without RoPE.
  const float* rotated() const { return call_.rotations.empty() ? plain_.data() : rotated_.data(); }

 private:
  const AttendCall& call_;
  kernels::Feature feature_;
  RowScratch scratch_;
  std::vector<float> plain_, rotated_;
};

}  // namespace posenc::cpu
