// Whether values hold a NaN or an infinity: where some of them are masked, a product would take 0 NaN, which is NaN.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace posenc::cpu {

// NaN and infinity have all bits of the exponent; found by words, without a conversion.
template <typename Bits>
bool are_finite(const void* data, std::int64_t count, Bits exponent) {
  const auto* bits = static_cast<const Bits*>(data);
  bool found = false;
  for (std::int64_t n = 0; n < count; ++n) found |= (bits[n] & exponent) == exponent;
  return !found;
}

inline bool are_finite(kernels::Element element, const void* data, std::int64_t count) {
  switch (element) {
    case kernels::Element::f32: return are_finite<std::uint32_t>(data, count, 0x7F800000);
    case kernels::Element::f16: return are_finite<std::uint16_t>(data, count, 0x7C00);
    case kernels::Element::bf16: return are_finite<std::uint16_t>(data, count, 0x7F80);
  }
  return false;
}

}  // namespace posenc::cpu
