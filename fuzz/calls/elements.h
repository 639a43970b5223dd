// The elements of a view, one by one: where they are, and their bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "posenc/tensor.h"

namespace posenc::fuzz {

inline std::int64_t count_of(const ConstTensorView& view) {
  if (view.rank == 0) return 0;
  std::int64_t count = 1;
  for (int axis = 0; axis < view.rank; ++axis) count *= view.shape[static_cast<std::size_t>(axis)];
  return count;
}

// Calls visit(offset) for each element in elements after data, the last axis fastest.
template <typename Visit>
void for_offsets(const ConstTensorView& view, const Visit& visit) {
  for (std::int64_t n = 0, count = count_of(view); n < count; ++n) {
    std::int64_t rest = n;
    std::int64_t offset = 0;
    for (auto axis = static_cast<std::size_t>(view.rank); axis-- > 0; rest /= view.shape[axis]) {
      offset += rest % view.shape[axis] * view.strides[axis];
    }
    visit(offset);
  }
}

inline const std::byte* at(const ConstTensorView& view, std::int64_t offset) {
  return static_cast<const std::byte*>(view.data) + offset * bytes_of(view.dtype);
}

// The bytes of all elements, the last axis fastest.
inline std::vector<std::byte> bytes_in(const ConstTensorView& view) {
  std::vector<std::byte> out;
  for_offsets(view, [&](std::int64_t offset) {
    const std::byte* const element = at(view, offset);
    out.insert(out.end(), element, element + bytes_of(view.dtype));
  });
  return out;
}

// Of each.
inline std::vector<std::vector<std::byte>> bytes_in_each(std::span<const TensorView> views) {
  std::vector<std::vector<std::byte>> out;
  for (const TensorView& view : views) out.push_back(bytes_in(view));
  return out;
}

}  // namespace posenc::fuzz
