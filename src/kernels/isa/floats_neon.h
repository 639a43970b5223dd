// Four floats in a register of NEON, as every AArch64 has it: conversions of binary16 too, none of bfloat16. The vector
// V of the kernels for RoPE, conversion, norms and attention; floats_avx2.h lists what it must have.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "kernels/lanes.h"

namespace {

struct NeonFloats {
  using Floats = float32x4_t;
  using All = posenc::kernels::All;
  using Some = posenc::kernels::Some;
  using Bf16Doubt = posenc::kernels::Sure;
  static constexpr std::int64_t kLanes = 4;
  static constexpr std::size_t kRegisters = 24;  // of 32, that the rotation may fill with angles and elements
  static constexpr int kProductRows = 8;         // at a time: with 3 registers of lanes, 24 sums
  static constexpr int kDotRows = 4;             // with kDecodeLanes lanes each

  static Floats all(float x) noexcept { return vdupq_n_f32(x); }
  static Floats add(Floats a, Floats b) noexcept { return vaddq_f32(a, b); }
  static Floats sub(Floats a, Floats b) noexcept { return vsubq_f32(a, b); }
  static Floats mul(Floats a, Floats b) noexcept { return vmulq_f32(a, b); }
  static Floats fma(Floats a, Floats b, Floats c) noexcept { return vfmaq_f32(c, a, b); }
  // Not the negative of vfmsq: where the difference is 0, that would be -0.
  static Floats fms(Floats a, Floats b, Floats c) noexcept { return vfmaq_f32(vnegq_f32(c), a, b); }
  // Lanes 0 1 2 3 -> 1 0 3 2
  static Floats swap_pairs(Floats a) noexcept { return vrev64q_f32(a); }
  // a, negated in lanes 0 and 2.
  static Floats negate_even(Floats a) noexcept {
    const uint32x4_t sign = vreinterpretq_u32_u64(vdupq_n_u64(0x80000000));
    return vreinterpretq_f32_u32(veorq_u32(bits(a), sign));
  }
  // Of 8 floats those at even and those at odd places.
  static void deal(Floats low, Floats high, Floats& even, Floats& odd) noexcept {
    even = vuzp1q_f32(low, high);
    odd = vuzp2q_f32(low, high);
  }

  static Floats div(Floats a, Floats b) noexcept { return vdivq_f32(a, b); }
  // b where either is NaN, as on x86.
  static Floats max(Floats a, Floats b) noexcept { return vbslq_f32(vcgtq_f32(a, b), a, b); }
  // x where a < b, else y.
  static Floats where_less(Floats a, Floats b, Floats x, Floats y) noexcept { return vbslq_f32(vcltq_f32(a, b), x, y); }
  // a 2^n, with n from -126 to 127, which stands in the lowest bits of `shifted` too; NaN for NaN.
  static Floats times_two_to(Floats a, Floats, Floats shifted) noexcept {
    return mul(a, vreinterpretq_f32_u32(vaddq_u32(vshlq_n_u32(bits(shifted), 23), bits(all(1.0F)))));
  }
  // p[index[0]] p[index[1]] ..., and p[index[0]] p[index[1] + 1] p[index[2] + 2] ...
  static Floats gather(const float* p, const std::int32_t* index) noexcept {
    const float whole[kLanes] = {p[index[0]], p[index[1]], p[index[2]], p[index[3]]};
    return load(whole, All{});
  }
  static Floats gather_by_lane(const float* p, const std::int32_t* index) noexcept {
    const float whole[kLanes] = {p[index[0]], p[index[1] + 1], p[index[2] + 2], p[index[3] + 3]};
    return load(whole, All{});
  }
  // Without its fraction: a of 0 .. 2^31.
  static Floats whole(Floats a) noexcept { return vcvtq_f32_s32(vcvtq_s32_f32(a)); }
  // p[row[0] step] p[row[1] step + 1] ..., of whole numbers.
  static Floats gather_rows(const float* p, Floats row, std::int32_t step) noexcept {
    std::int32_t first[kLanes];
    vst1q_s32(first, vmulq_n_s32(vcvtq_s32_f32(row), step));
    return gather_by_lane(p, first);
  }
  // Of each the sum of its lanes: finished(0, sums) at p[0] ... p[3] of the first row, the next row `step` floats
  // further on.
  template <int kRows, class Finished = posenc::kernels::AsTheyAre>
  static void store_sums(float* p, std::int64_t step, const Floats (&of)[kRows][4],
                         const Finished& finished = {}) noexcept {
    for (int r = 0; r < kRows; ++r) {
      vst1q_f32(p + r * step, finished(r, vpaddq_f32(vpaddq_f32(of[r][0], of[r][1]), vpaddq_f32(of[r][2], of[r][3]))));
    }
  }

  static Floats load(const float* p, All) noexcept { return vld1q_f32(p); }
  static Floats load(const float* p, Some some) noexcept {
    float whole[kLanes] = {};
    __builtin_memcpy(whole, p, bytes<float>(some));
    return load(whole, All{});
  }
  static void store(float* p, Floats a, All) noexcept { vst1q_f32(p, a); }
  static void store(float* p, Floats a, Some some) noexcept {
    float whole[kLanes];
    store(whole, a, All{});
    __builtin_memcpy(p, whole, bytes<float>(some));
  }
  // p[0] p[0] p[1] p[1] of 2 floats; what is less than all of them is one.
  static Floats load_twice(const float* p, All) noexcept {
    const float32x2_t a = vld1_f32(p);
    return vcombine_f32(vdup_lane_f32(a, 0), vdup_lane_f32(a, 1));
  }
  static Floats load_twice(const float* p, Some) noexcept { return vld1q_dup_f32(p); }

  static Floats load_f16(const std::uint16_t* p, All) noexcept {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
  }
  static Floats load_f16(const std::uint16_t* p, Some some) noexcept {
    std::uint16_t whole[kLanes] = {};
    __builtin_memcpy(whole, p, bytes<std::uint16_t>(some));
    return load_f16(whole, All{});
  }
  static void store_f16(std::uint16_t* p, Floats a, All) noexcept {
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(a)));
  }
  static void store_f16(std::uint16_t* p, Floats a, Some some) noexcept {
    std::uint16_t whole[kLanes];
    store_f16(whole, a, All{});
    __builtin_memcpy(p, whole, bytes<std::uint16_t>(some));
  }

  // 4 of bfloat16, in order.
  static Floats load_bf16(const std::uint16_t* p, All) noexcept {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
  }
  static Floats load_bf16(const std::uint16_t* p, Some some) noexcept {
    std::uint16_t whole[kLanes] = {};
    __builtin_memcpy(whole, p, bytes<std::uint16_t>(some));
    return load_bf16(whole, All{});
  }
  static void store_bf16(std::uint16_t* p, Floats a, All) noexcept { vst1_u16(p, vshrn_n_u32(rounded(a), 16)); }
  static void store_bf16(std::uint16_t* p, Floats a, Some some) noexcept {
    std::uint16_t whole[kLanes];
    store_bf16(whole, a, All{});
    __builtin_memcpy(p, whole, bytes<std::uint16_t>(some));
  }

  // 8 of bfloat16, dealt to even and odd.
  static void load_bf16(const std::uint16_t* p, Floats& even, Floats& odd, All) noexcept {
    const uint32x4_t a = keep(vreinterpretq_u32_u16(vld1q_u16(p)));
    even = vreinterpretq_f32_u32(vshlq_n_u32(a, 16));
    odd = vreinterpretq_f32_u32(vandq_u32(a, vdupq_n_u32(kUpper)));
  }
  static void load_bf16(const std::uint16_t* p, Floats& even, Floats& odd, Some some) noexcept {
    std::uint16_t whole[2 * kLanes] = {};
    __builtin_memcpy(whole, p, bytes<std::uint16_t>(some));
    load_bf16(whole, even, odd, All{});
  }
  static void store_bf16(std::uint16_t* p, Floats even, Floats odd, All) noexcept {
    vst1q_u16(p, vreinterpretq_u16_u32(vsriq_n_u32(rounded(odd), rounded(even), 16)));
  }
  static void store_bf16(std::uint16_t* p, Floats even, Floats odd, Some some) noexcept {
    std::uint16_t whole[2 * kLanes];
    store_bf16(whole, even, odd, All{});
    __builtin_memcpy(p, whole, bytes<std::uint16_t>(some));
  }

  // a, which is in a register from here on: the loads stay in the order of their addresses.
  template <class Register>
  static Register keep(Register a) noexcept {
    asm volatile("" : "+w"(a));
    return a;
  }

  static Floats bf16_nan(Floats a) noexcept { return a; }  // any will do

  [[gnu::always_inline]] static void fetch(const void* p) noexcept { __builtin_prefetch(p, 0, 2); }  // into L2
  [[gnu::always_inline]] static void fetch_for_later(const void* p) noexcept { __builtin_prefetch(p, 0, 2); }

 private:
  static constexpr std::uint32_t kUpper = 0xFFFF0000;  // the upper half of a lane

  template <class T>
  static std::size_t bytes(Some some) noexcept {
    return static_cast<std::size_t>(some.n) * sizeof(T);
  }
  static uint32x4_t bits(Floats a) noexcept { return vreinterpretq_u32_f32(a); }
  // The nearest bfloat16, ties to even, in the upper half of each lane; a NaN stays one and becomes quiet. The
  // processor's own conversion (FEAT_BF16) rounds alike, but not every AArch64 has it.
  static uint32x4_t rounded(Floats a) noexcept {
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits(a), 16), vdupq_n_u32(1));
    const uint32x4_t up = vaddq_u32(vaddq_u32(bits(a), vdupq_n_u32(0x7FFF)), odd);
    const uint32x4_t quiet = vorrq_u32(bits(a), vdupq_n_u32(0x400000));
    return vbslq_u32(vceqq_f32(a, a), up, quiet);
  }
};

}  // namespace
