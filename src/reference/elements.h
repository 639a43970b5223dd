// Elements of tensors as doubles, one at a time, by the definition of their format, and where a head begins in each
// rank. No conversion instruction is used, so the kernels' conversions can be tested against it.
#pragma once

#include <array>
#include <cstdint>

#include "posenc/tensor.h"

namespace posenc::inline v0_2::reference {

// The element `offset` elements after view.data.
double read(const ConstTensorView& view, std::int64_t offset);

// Of [tokens, heads, head_dim] or [batch, heads, tokens, head_dim].
struct Sizes {
  std::int64_t batch;
  std::int64_t tokens;
  std::int64_t heads;
};

inline Sizes sizes_of(const ConstTensorView& x) {
  if (x.rank == 3) return {1, x.shape[0], x.shape[1]};
  return {x.shape[0], x.shape[2], x.shape[1]};
}

// Tokens of all sequences: rows of what is given per token.
inline std::int64_t rows_of(const ConstTensorView& x) {
  const Sizes sizes = sizes_of(x);
  return sizes.batch * sizes.tokens;
}

// Elements from x.data to channel 0 of that head; `b` counts in rank 4 only.
inline std::int64_t offset_of(const ConstTensorView& x, std::int64_t b, std::int64_t t, std::int64_t h) {
  if (x.rank == 3) return t * x.strides[0] + h * x.strides[1];
  return b * x.strides[0] + h * x.strides[1] + t * x.strides[2];
}

}  // namespace posenc::inline v0_2::reference
