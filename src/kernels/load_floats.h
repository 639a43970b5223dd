// Elements of f32, f16 or bf16 as a register of floats: what every loop over tensors reads with. Exact: both narrow
// types are subsets of f32.
#pragma once

#include "kernels/attention.h"
#include "kernels/lanes.h"

namespace posenc::kernels {

template <class V, Element kElement, class Count>
typename V::Floats load_as_floats(const void* p, std::int64_t i, Count count) noexcept {
  if constexpr (kElement == Element::f32) {
    return V::load(static_cast<const float*>(p) + i, count);
  } else if constexpr (kElement == Element::f16) {
    return V::load_f16(static_cast<const std::uint16_t*>(p) + i, count);
  } else {
    return V::load_bf16(static_cast<const std::uint16_t*>(p) + i, count);
  }
}

}  // namespace posenc::kernels
