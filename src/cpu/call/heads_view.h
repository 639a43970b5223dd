// A tensor of heads, checked: what remains is pointers, sizes and strides. [tokens, heads, channels], [batch, heads,
// tokens, channels] and the blocks of a paged KV cache come out alike.
#pragma once

#include <cstdint>
#include <string_view>

#include "cpu/call/tensor_memory.h"
#include "kernels/kernels.h"
#include "posenc/tensor.h"

namespace posenc::cpu {

// [batch, rows, heads, channels]; strides in elements, that of channels is 1. Of a paged cache the batch are its
// blocks.
struct HeadsView {
  struct Strides {
    std::int64_t batch = 0;
    std::int64_t row = 0;
    std::int64_t head = 0;
  };
  const void* from = nullptr;  // null: there is no tensor, or it has no elements
  void* to = nullptr;
  kernels::Element element = kernels::Element::f32;
  std::int64_t element_bytes = 0;
  std::int64_t heads = 0;
  std::int64_t block_size = 0;  // rows of a block of a paged cache; else 0
  Strides from_strides;
  Strides to_strides;
};

// Of a dtype that is none of f64.
constexpr kernels::Element element_of(DType dtype) noexcept {
  return dtype == DType::f32   ? kernels::Element::f32
         : dtype == DType::f16 ? kernels::Element::f16
                               : kernels::Element::bf16;
}

// Whether its data stand where its elements may. (Their bytes are a power of 2: no division, which takes 20 ns.)
inline bool is_aligned(const ConstTensorView& x) noexcept {
  const auto bytes = static_cast<std::uintptr_t>(bytes_of(x.dtype));
  return (reinterpret_cast<std::uintptr_t>(x.data) & (bytes - 1)) == 0;
}

// False where an axis has no places.
bool has_elements(const ConstTensorView& x);

// What a message calls a tensor: "[where] name.shape[2] must ...".
struct TensorName {
  std::string_view where;
  std::string_view name;
};

// How the axes of a tensor of rank 4 are meant.
enum class Axes : std::uint8_t { heads_then_tokens, tokens_then_heads };

// What a tensor writes, and what it reads where that is elsewhere.
struct HeadsMemory {
  Memory written;
  Memory read;
};

// `to` is written, and `from` read where it is not empty. Throws Error when they do not fit `head_dim` or each other,
// or when elements that are written coincide, or are read elsewhere. `memory` becomes that of both.
HeadsView check_heads(TensorName to_name, const TensorView& to, TensorName from_name, const ConstTensorView& from,
                      std::int64_t head_dim, Axes axes, HeadsMemory& memory);

}  // namespace posenc::cpu
