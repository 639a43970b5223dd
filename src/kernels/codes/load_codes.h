// Codes of a quantised cache as a register of floats (codes.h has the formats): of plain codes the codes themselves, of
// blocks the numbers. Exact, but for the sum of q5_1, which is rounded once.
#pragma once

#include "kernels/codes/codes.h"
#include "kernels/lanes.h"

namespace posenc::kernels {

// Channels i .. of a row that begins at p. Blocks are read in registers that lie in one half of a block, 4-bit codes
// from an even channel on.
template <class V, Codes kCodes, class Count>
typename V::Floats load_as_floats(const void* p, std::int64_t i, Count count) noexcept {
  const auto* const bytes = static_cast<const std::uint8_t*>(p);
  if constexpr (kCodes == Codes::int8) {
    return V::load_int8(bytes + i, count);
  } else if constexpr (kCodes == Codes::uint8) {
    return V::load_uint8(bytes + i, count);
  } else if constexpr (kCodes == Codes::int4) {
    return V::load_int4(bytes + i / 2, count);
  } else if constexpr (kCodes == Codes::uint4) {
    return V::load_uint4(bytes + i / 2, count);
  } else if constexpr (kCodes == Codes::e4m3) {
    return V::load_e4m3(bytes + i, count);
  } else if constexpr (kCodes == Codes::e5m2) {
    return V::load_e5m2(bytes + i, count);
  } else if constexpr (kCodes == Codes::q8_0) {
    const std::uint8_t* const block = bytes + i / kBlockChannels * kQ80Bytes;
    return V::mul(V::load_int8(block + 2 + i % kBlockChannels, All{}), V::all_f16(block));
  } else if constexpr (kCodes == Codes::q4_0) {
    const std::uint8_t* const block = bytes + i / kBlockChannels * kQ40Bytes;
    return V::mul(V::load_halves_less_8(block + 2, i % kBlockChannels), V::all_f16(block));
  } else {
    const std::uint8_t* const block = bytes + i / kBlockChannels * kQ51Bytes;
    return V::fma(V::load_fifths(block + 4, i % kBlockChannels), V::all_f16(block), V::all_f16(block + 2));
  }
}

// Whether the codes have their scales among them.
constexpr bool are_blocks(Codes codes) noexcept { return codes >= Codes::q8_0; }

// Channels that a line of memory holds, of blocks a power of 2 below that.
constexpr std::int64_t channels_of_line(Codes codes) noexcept {
  return codes == Codes::int4 || codes == Codes::uint4 ? 2 * kLineBytes
         : codes == Codes::q8_0                        ? kBlockChannels
                                                       : kLineBytes;
}

}  // namespace posenc::kernels
