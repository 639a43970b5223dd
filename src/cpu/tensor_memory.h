// The memory that a strided tensor touches: whether its elements are apart, and whether two tensors share one.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "posenc/tensor.h"

namespace posenc::cpu {

// One axis of a tensor that has more than one element.
struct Extent {
  std::int64_t size = 1;
  std::int64_t stride = 0;  // in elements, as a magnitude
};

// Axes from the smallest stride to the largest, and the range of addresses.
struct Memory {
  std::array<Extent, kMaxRank> axes{};
  int count = 0;
  const char* lowest = nullptr;
  std::int64_t bytes = 0;  // from the lowest element to the end of the highest
};

// Of a tensor that has elements. Throws Error "[where] NAME.strides must ..." when two of them are in one place, or
// when an offset does not fit 64 bits. (Axes that interleave without meeting are refused too: no tensor of use is so.)
Memory memory_of(std::string_view where, std::string_view name, const ConstTensorView& view);

// Whether no element of a is one of b; both of the same dtype, of `element_bytes`. Ranges of addresses may interleave,
// as those of q and k of one fused projection do: then the outer axes of both are the same, and within one step of the
// innermost of those each has a part of its own.
bool are_disjoint(const Memory& a, const Memory& b, std::int64_t element_bytes);

// Whether their ranges of addresses are apart.
bool are_apart(const Memory& a, const Memory& b);

}  // namespace posenc::cpu
