// Whether values hold a NaN or an infinity: where some of them are masked, a product would take 0 NaN, which is NaN.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace posenc::cpu {

// NaN and infinity have all bits of the exponent; found by words, without a conversion. Two cache lines at a time, a
// number that compilers turn into vectors: a quarter of the time of word after word.
template <typename Bits>
bool are_finite(const void* data, std::int64_t count, Bits exponent) {
  constexpr std::int64_t kBlock = 128 / sizeof(Bits);
  const auto* bits = static_cast<const Bits*>(data);
  Bits found = 0;
  for (; count >= kBlock; count -= kBlock, bits += kBlock) {
    for (std::int64_t n = 0; n < kBlock; ++n) found |= static_cast<Bits>((bits[n] & exponent) == exponent);
  }
  for (std::int64_t n = 0; n < count; ++n) found |= static_cast<Bits>((bits[n] & exponent) == exponent);
  return found == 0;
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
