// The heads of one token, moved, rotated and normalised: what writing a KV cache and its backward pass share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cpu/call/heads_view.h"
#include "cpu/rotate/check_rotate.h"
#include "kernels/kernels.h"
#include "posenc/cache.h"

namespace posenc::cpu {

inline const void* moved(const void* p, std::int64_t bytes) { return static_cast<const char*>(p) + bytes; }
inline void* moved(void* p, std::int64_t bytes) { return static_cast<char*>(p) + bytes; }

// `count` elements of each of some heads.
struct Heads {
  kernels::Element element;
  std::int64_t element_bytes;
  std::int64_t head;  // stride
};
constexpr Heads in_scratch(std::int64_t head_dim) { return {kernels::Element::f32, sizeof(float), head_dim}; }
inline Heads read_heads(const HeadsView& x) { return {x.element, x.element_bytes, x.from_strides.head}; }
inline Heads written_heads(const HeadsView& x) { return {x.element, x.element_bytes, x.to_strides.head}; }

// By the conversion kernel where the dtypes differ, else as bytes: in one copy where the heads are adjacent on both
// sides.
inline void move_heads(const kernels::KernelTable& kernels, const Heads& from_heads, const void* from,
                       const Heads& to_heads, void* to, std::int64_t heads, std::int64_t count) {
  if (from_heads.element != to_heads.element) {
    kernels.convert({.from_element = from_heads.element,
                     .to_element = to_heads.element,
                     .rows = heads,
                     .count = count,
                     .from = from,
                     .from_row = from_heads.head,
                     .to = to,
                     .to_row = to_heads.head});
    return;
  }
  const std::int64_t bytes = from_heads.element_bytes;
  if (from_heads.head == count && to_heads.head == count) {
    std::memcpy(to, from, static_cast<std::size_t>(heads * count * bytes));
    return;
  }
  for (std::int64_t h = 0; h < heads; ++h) {
    std::memcpy(moved(to, h * to_heads.head * bytes), moved(from, h * from_heads.head * bytes),
                static_cast<std::size_t>(count * bytes));
  }
}

// Head 0 of a row of k or v, counted through the batch: elements from its tensor's first.
inline std::int64_t row_offset(const HeadsView::Strides& strides, const RotateCall& call, std::int64_t row) {
  const RowOfBatch at = row_of_batch(call, row);
  return at.member * strides.batch + at.row * strides.row;
}
inline const void* row_of(const HeadsView& x, const RotateCall& call, std::int64_t row) {
  return moved(x.from, row_offset(x.from_strides, call, row) * x.element_bytes);
}

// Head 0 of a slot. In a paged cache a slot is block * block_size + place in the block.
inline void* place_of(const HeadsView& cache, std::int64_t slot) {
  std::int64_t elements = slot * cache.to_strides.row;
  if (cache.block_size > 0) {
    elements = slot / cache.block_size * cache.to_strides.batch + slot % cache.block_size * cache.to_strides.row;
  }
  return moved(cache.to, elements * cache.element_bytes);
}

// One row of RoPE, by one layout for all sequences. The scheme's channels begin at first_channel; those before and
// after are left alone. `cos`: [pairs], its sin after it. sin_scale: -1 for the transpose. Strides of heads in
// elements.
inline void rotate_heads(const kernels::KernelTable& kernels, const RotateArgs& args, kernels::Element element,
                         const void* from, std::int64_t from_head, void* to, std::int64_t to_head, std::int64_t heads,
                         const float* const* cos, float sin_scale = 1.0F) {
  const RotaryLayout& layout = table_of(args, 0).layout();
  const std::int64_t bytes = layout.first_channel * (element == kernels::Element::f32 ? 4 : 2);
  kernels.rotate({.element = element,
                  .rows = 1,
                  .heads = heads,
                  .pairs = layout.pairs(),
                  .partner = layout.pairing == Pairing::half ? layout.pairs() : 0,
                  .cos = cos,
                  .sin_offset = layout.pairs(),
                  .sin_scale = sin_scale,
                  .from = moved(from, bytes),
                  .from_head = from_head,
                  .to = moved(to, bytes),
                  .to_head = to_head});
}

// Of a norm's weight or bias, checked.
inline std::int64_t size_of(const ConstTensorView& x) {
  return x.empty() ? 0 : x.rank == 1 ? x.shape[0] : x.shape[0] * x.shape[1];
}

// Null for no tensor; the tensor itself where its elements are what is wanted.
inline const float* as_floats(const kernels::KernelTable& kernels, const ConstTensorView& x, bool plus_one,
                              float* out) {
  if (x.empty()) return nullptr;
  if (x.dtype == DType::f32 && !plus_one) return static_cast<const float*>(x.data);
  const std::int64_t count = size_of(x);
  const Heads from{element_of(x.dtype), bytes_of(x.dtype), count};
  move_heads(kernels, from, x.data, in_scratch(count), out, 1, count);
  if (plus_one) std::for_each(out, out + count, [](float& w) { w += 1.0F; });
  return out;
}

// Heads first_head .. of a token, in floats that follow each other: one norm for each head, or one over all heads of
// the token, which are then all there. weight, bias: as floats, of head 0 or of all heads.
inline kernels::NormRows norm_rows(const KeyNorm& norm, std::int64_t first_head, std::int64_t heads,
                                   std::int64_t head_dim, float* x, const float* weight, const float* bias) {
  const bool by_head = norm.scheme.over == QkNorm::Over::head;
  const bool each_its_own = by_head && size_of(norm.weight) > head_dim;
  const std::int64_t count = by_head ? head_dim : heads * head_dim;
  const std::int64_t skipped = each_its_own ? first_head * head_dim : 0;
  return {.rows = by_head ? heads : 1,
          .count = count,
          .x = x,
          .centred = norm.scheme.kind == QkNorm::Kind::layer,
          .divisor = norm.scheme.kind == QkNorm::Kind::l2 ? 1.0 : static_cast<double>(count),
          .epsilon = norm.epsilon,
          .weight = weight == nullptr ? nullptr : weight + skipped,
          .bias = bias == nullptr ? nullptr : bias + skipped,
          .weight_row = each_its_own ? head_dim : 0};
}

}  // namespace posenc::cpu
