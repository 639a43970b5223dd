// Rows of a tensor of heads, as numbers: where a token's head begins, in each of the ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "posenc/tensor.h"
#include "reference/elements.h"

namespace posenc::fuzz {

// [heads] offsets of channel 0 of a token, of [tokens, heads, channels], [batch, heads, tokens, channels], or of the
// blocks of a cache [blocks, block_size, heads, channels], where `b` is the block and `t` the place in it.
inline std::vector<std::int64_t> heads_at(const ConstTensorView& x, std::int64_t b, std::int64_t t, bool blocks) {
  const std::size_t head_axis = x.rank == 4 && blocks ? 2 : 1;
  const std::size_t token_axis = x.rank == 3 ? 0 : blocks ? 1 : 2;
  std::vector<std::int64_t> out;
  for (std::int64_t h = 0; h < x.shape[head_axis]; ++h) {
    const std::int64_t first = x.rank == 4 ? b * x.strides[0] : 0;
    out.push_back(first + t * x.strides[token_axis] + h * x.strides[head_axis]);
  }
  return out;
}

// [heads, channels]
inline std::vector<double> numbers_at(const ConstTensorView& x, const std::vector<std::int64_t>& heads) {
  std::vector<double> out;
  const std::int64_t channels = x.shape[static_cast<std::size_t>(x.rank - 1)];
  for (const std::int64_t first : heads) {
    for (std::int64_t c = 0; c < channels; ++c) out.push_back(reference::read(x, first + c));
  }
  return out;
}

}  // namespace posenc::fuzz
