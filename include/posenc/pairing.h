// From one pairing to the other: half-split (NeoX, rotate_half) to interleaved (GPT-J, Meta's) and back, by permuting
// the channels of vectors or the rows of weights.
//
// A model of pairing `half` becomes one of `interleaved` with the same results when the rows of its q and k
// projections, their biases and their norms' weights are put into another order; Llama's weights went through this
// between Meta's files and Hugging Face's, and go back on the way to GGUF. Only the order changes, so there and back is
// the identity, bit by bit. Channels outside the rotated ones stay where they are, and each pair keeps its frequency
// and its axis. The formula: math::channels_of_pair (src/math/rope/rotation.h).
//
// Thread safety: calls on different tensors may run at the same time.
#pragma once

#include <cstdint>
#include <vector>

#include "posenc/export.h"
#include "posenc/rope.h"
#include "posenc/rotary_table.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2 {

// Channel c of the result is channel order[c] of what it is made from: [head_dim]. `layout.pairing` is that of the
// source, `to` that of the result; equal ones give 0, 1, 2, .... Throws Error for a layout that contradicts itself.
POSENC_API std::vector<std::int64_t> pairing_order(const RotaryLayout& layout, Pairing to);

struct PermuteArgs {
  // [heads * head_dim, ...] of any rank, DType and strides, changed in place: rows of a q or k projection
  // [heads * head_dim, in], a bias or norm weights [heads * head_dim] or [head_dim]. Vectors that end in their channels
  // are passed as transposed(x, 0, last).
  TensorView x{};
  // Of what x is now. Of a latent attention's query (DeepSeek) that of the whole head, whose last channels rotate; of
  // its keys' projection that of one head of all its rows, first_channel kv_lora_rank.
  RotaryLayout layout;
  Required<Pairing> to;
};

// Takes at most 16 KiB, and 16 bytes for each channel that rotates, from the heap. Throws Error, before anything is
// written, when the first axis is no multiple of head_dim, and for a tensor or a layout that does not fit.
POSENC_API void permute_pairing(const PermuteArgs& args);

}  // namespace posenc::inline v0_2
