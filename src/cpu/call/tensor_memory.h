// The memory that a strided tensor touches: whether its elements overlap, and whether two tensors share one. What is
// written must do neither: q and k as views of one QKV tensor are allowed, a broadcast (stride 0) output is not.
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
  std::uintptr_t lowest = 0;  // the address of the lowest element
  std::int64_t bytes = 0;     // from the lowest element to the end of the highest; 0: there is no element
  std::int64_t element_bytes = 0;
};

// Of a tensor that has elements. Throws Error "[where] NAME.strides must ..." when an offset does not fit 64 bits.
Memory memory_of(std::string_view where, std::string_view name, const ConstTensorView& view);
// The same of elements of so many bytes, whatever the view's dtype.
Memory memory_of(std::string_view where, std::string_view name, const ConstTensorView& view,
                 std::int64_t element_bytes);

// Throws Error when two elements are in one place. (Axes that interleave without meeting are refused too: no tensor of
// use is so.)
void check_places(std::string_view where, std::string_view name, const Memory& memory);

// Whether no element of a is one of b. Ranges of addresses may interleave, as those of q and k of one fused projection
// do, as long as the axes on which they do are the same.
bool are_disjoint(const Memory& a, const Memory& b);

}  // namespace posenc::cpu
