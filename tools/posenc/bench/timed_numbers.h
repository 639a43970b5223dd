// Numbers in the tensors that are timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "posenc/tensor.h"

namespace posenc::tool {

// Of either sign: 0.5 to 1 - 2^-5 in f16, 0.5 to 1 - 2^-2 in bf16 (their six lowest bits are drawn), and what two of
// the latter are as a float. Numbers that stay normal when they are rotated.
inline void fill(char* data, std::size_t bytes, DType dtype) {
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < bytes; i += 2) {
    state = state * 1664525U + 1013904223U;  // Numerical Recipes' generator
    const auto bits =
        static_cast<std::uint16_t>(((state >> 16U) & 0x803FU) | (dtype == DType::f16 ? 0x3800U : 0x3F00U));
    std::memcpy(data + i, &bits, sizeof bits);
  }
}

}  // namespace posenc::tool
