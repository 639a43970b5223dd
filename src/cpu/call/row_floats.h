// A row of elements of any dtype as floats, and floats as a row of any dtype, by the conversion kernel
// (kernels/convert_loop.h); floats are copied.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/kernels.h"

namespace posenc::cpu {

inline void read_floats(const kernels::KernelTable& kernels, kernels::Element element, const void* from,
                        std::int64_t count, float* to) {
  if (element == kernels::Element::f32) {
    std::copy_n(static_cast<const float*>(from), count, to);
    return;
  }
  kernels.convert({.from_element = element,
                   .to_element = kernels::Element::f32,
                   .rows = 1,
                   .count = count,
                   .from = from,
                   .to = to});
}

inline void write_floats(const kernels::KernelTable& kernels, const float* from, std::int64_t count,
                         kernels::Element element, void* to) {
  if (element == kernels::Element::f32) {
    std::copy_n(from, count, static_cast<float*>(to));
    return;
  }
  kernels.convert({.from_element = kernels::Element::f32,
                   .to_element = element,
                   .rows = 1,
                   .count = count,
                   .from = from,
                   .to = to});
}

}  // namespace posenc::cpu
