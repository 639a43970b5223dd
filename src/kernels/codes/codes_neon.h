// Four codes of a quantised KV cache as floats, in a register of NEON: NeonFloats and the loads that
// kernels/codes/load_codes.h wants; codes_avx2.h lists what it must have.
#pragma once

#include "kernels/isa/floats_neon.h"

namespace {

struct NeonCodes : NeonFloats {
  template <class Count>
  static Floats load_int8(const std::uint8_t* p, Count count) noexcept {
    const int16x8_t wide = vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(word(p, count))));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide)));
  }
  template <class Count>
  static Floats load_uint8(const std::uint8_t* p, Count count) noexcept {
    return vcvtq_f32_u32(bytes(p, count));
  }
  template <class Count>
  static Floats load_int4(const std::uint8_t* p, Count count) noexcept {
    const std::int32_t up[kLanes] = {28, 24, 20, 16};
    const int32x4_t at_the_top = vshlq_s32(vreinterpretq_s32_u32(halves(p, count)), vld1q_s32(up));
    return vcvtq_f32_s32(vshrq_n_s32(at_the_top, 28));
  }
  template <class Count>
  static Floats load_uint4(const std::uint8_t* p, Count count) noexcept {
    const std::int32_t down[kLanes] = {0, -4, -8, -12};
    return vcvtq_f32_u32(vandq_u32(vshlq_u32(halves(p, count), vld1q_s32(down)), vdupq_n_u32(15)));
  }
  // Of sign, exponent and mantissa those of binary16 but for the exponent's bias, 7 for 15: times 2^8. What would be
  // 480 is NaN.
  template <class Count>
  static Floats load_e4m3(const std::uint8_t* p, Count count) noexcept {
    const int16x8_t wide = vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(word(p, count))));
    const uint16x4_t all_bits = vreinterpret_u16_s16(vshl_n_s16(vget_low_s16(wide), 7));
    const uint16x4_t is_nan = vceq_u16(vand_u16(all_bits, vdup_n_u16(0x3F80)), vdup_n_u16(0x3F80));
    const uint16x4_t f16 = vbsl_u16(is_nan, vdup_n_u16(0x7E00), vand_u16(all_bits, vdup_n_u16(0xBFFF)));
    return mul(vcvt_f32_f16(vreinterpret_f16_u16(f16)), all(256.0F));
  }
  // The upper byte of binary16.
  template <class Count>
  static Floats load_e5m2(const std::uint8_t* p, Count count) noexcept {
    const uint16x4_t f16 = vshl_n_u16(vmovn_u32(bytes(p, count)), 8);
    return vcvt_f32_f16(vreinterpret_f16_u16(f16));
  }
  static Floats all_f16(const std::uint8_t* p) noexcept {
    std::uint16_t half = 0;
    __builtin_memcpy(&half, p, sizeof half);
    return vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half)));
  }
  // Channels i .. of a block, i a multiple of 4, from the half bytes at p.
  static Floats load_halves_less_8(const std::uint8_t* p, std::int64_t i) noexcept {
    return vcvtq_f32_s32(vsubq_s32(vreinterpretq_s32_u32(halves_of_block(p, i)), vdupq_n_s32(8)));
  }
  // The same with a fifth bit each, which stand before the half bytes.
  static Floats load_fifths(const std::uint8_t* p, std::int64_t i) noexcept {
    std::uint32_t fifth = 0;
    __builtin_memcpy(&fifth, p, sizeof fifth);
    const std::int32_t down[kLanes] = {0, -1, -2, -3};
    const uint32x4_t own = vshlq_u32(vdupq_n_u32(fifth >> static_cast<unsigned>(i)), vld1q_s32(down));
    const uint32x4_t sixteen = vshlq_n_u32(vandq_u32(own, vdupq_n_u32(1)), 4);
    return vcvtq_f32_u32(vorrq_u32(halves_of_block(p + sizeof fifth, i), sixteen));
  }

 private:
  static std::uint32_t word(const std::uint8_t* p, All) noexcept { return word(p, Some{kLanes}); }
  static std::uint32_t word(const std::uint8_t* p, Some some) noexcept {
    std::uint32_t whole = 0;
    __builtin_memcpy(&whole, p, static_cast<std::size_t>(some.n));
    return whole;
  }
  // 4 bytes, one a lane.
  template <class Count>
  static uint32x4_t bytes(const std::uint8_t* p, Count count) noexcept {
    const uint16x8_t wide = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(word(p, count))));
    return vmovl_u16(vget_low_u16(wide));
  }
  // Of 4 half bytes all in each lane.
  template <class Count>
  static uint32x4_t halves(const std::uint8_t* p, Count count) noexcept {
    std::int64_t n = kLanes;
    if constexpr (requires { count.n; }) n = count.n;
    return vdupq_n_u32(word(p, Some{n / 2}));
  }
  static uint32x4_t halves_of_block(const std::uint8_t* p, std::int64_t i) noexcept {
    const uint32x4_t both = bytes(p + i % 16, All{});
    return i < 16 ? vandq_u32(both, vdupq_n_u32(15)) : vshrq_n_u32(both, 4);
  }
};

}  // namespace
