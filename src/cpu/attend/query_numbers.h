// One float for each query and head, of lse and carry: [tokens, heads] or [batch, heads, tokens].
#pragma once

#include <algorithm>
#include <cstdint>

#include "posenc/tensor.h"

namespace posenc::cpu {

// `row`: of all members of the batch.
// Where there are no tokens nothing is asked for; 1 keeps the division defined.
inline float& number_of(const TensorView& x, std::int64_t row, std::int64_t head) {
  float* const data = static_cast<float*>(x.data);
  if (x.rank == 2) return data[row * x.strides[0] + head * x.strides[1]];
  const std::int64_t tokens = std::max<std::int64_t>(x.shape[2], 1);
  return data[row / tokens * x.strides[0] + head * x.strides[1] + row % tokens * x.strides[2]];
}

}  // namespace posenc::cpu
