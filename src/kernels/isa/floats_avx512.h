// Sixteen floats in a register of AVX-512 (F, BW, VL, DQ): the vector V of the kernels for RoPE, conversion, norms and
// attention; floats_avx2.h lists what it must have. Tails are masked. bf16 is converted by shifts and not by
// AVX512_BF16's VCVTNE2PS2BF16 (store_bf16 says why); that extension serves products alone (pairs_avx512.cpp).
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/lanes.h"

namespace {

struct Avx512Floats {
  using Floats = __m512;
  using All = posenc::kernels::All;
  using Some = posenc::kernels::Some;
  using AsTheyAre = posenc::kernels::AsTheyAre;

  // Whether an element lay halfway between two of bfloat16. Of arbitrary numbers one in 2^16 does.
  struct Bf16Doubt {
    __mmask16 others = 0xFFFF;  // lanes without one so far
    bool is_open() const noexcept { return __builtin_expect(others != 0xFFFF, 0); }
  };

  static constexpr std::int64_t kLanes = 16;
  static constexpr std::size_t kRegisters = 24;  // of 32, that the rotation may fill with angles and elements
  static constexpr int kProductRows = 8;         // at a time: with 3 registers of lanes, 24 sums
  static constexpr int kDotRows = 4;             // with kDecodeLanes lanes each

  static Floats all(float x) noexcept { return _mm512_set1_ps(x); }
  static Floats add(Floats a, Floats b) noexcept { return _mm512_add_ps(a, b); }
  static Floats sub(Floats a, Floats b) noexcept { return _mm512_sub_ps(a, b); }
  static Floats mul(Floats a, Floats b) noexcept { return _mm512_mul_ps(a, b); }
  static Floats fma(Floats a, Floats b, Floats c) noexcept { return _mm512_fmadd_ps(a, b, c); }
  static Floats fms(Floats a, Floats b, Floats c) noexcept { return _mm512_fmsub_ps(a, b, c); }
  // Lanes 0 1 2 3 ... -> 1 0 3 2 ...
  static Floats swap_pairs(Floats a) noexcept { return _mm512_permute_ps(a, 0xB1); }
  // a, negated in lanes 0 2 4 ...
  static Floats negate_even(Floats a) noexcept {
    return _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(a), _mm512_set1_epi64(0x80000000)));
  }
  // Of 32 floats those at even and those at odd places.
  static void deal(Floats low, Floats high, Floats& even, Floats& odd) noexcept {
    const __m512i to_even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i to_odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    even = _mm512_permutex2var_ps(low, to_even, high);
    odd = _mm512_permutex2var_ps(low, to_odd, high);
  }

  static Floats div(Floats a, Floats b) noexcept { return _mm512_div_ps(a, b); }
  static Floats max(Floats a, Floats b) noexcept { return _mm512_max_ps(a, b); }
  // x where a < b, else y.
  static Floats where_less(Floats a, Floats b, Floats x, Floats y) noexcept {
    return _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), x);
  }
  // a 2^n, with n from -126 to 127, which stands in the lowest bits of `shifted` too; NaN for NaN.
  static Floats times_two_to(Floats a, Floats n, Floats) noexcept { return _mm512_scalef_ps(a, n); }
  // p[index[0]] p[index[1]] ..., and p[index[0]] p[index[1] + 1] p[index[2] + 2] ...
  static Floats gather(const float* p, const std::int32_t* index) noexcept {
    return _mm512_i32gather_ps(_mm512_loadu_si512(index), p, sizeof(float));
  }
  static Floats gather_by_lane(const float* p, const std::int32_t* index) noexcept {
    const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_i32gather_ps(_mm512_add_epi32(_mm512_loadu_si512(index), lanes), p, sizeof(float));
  }
  // Without its fraction: a of 0 .. 2^31.
  static Floats whole(Floats a) noexcept { return _mm512_cvtepi32_ps(_mm512_cvttps_epi32(a)); }
  // p[row[0] step] p[row[1] step + 1] ..., of whole numbers.
  static Floats gather_rows(const float* p, Floats row, std::int32_t step) noexcept {
    const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i first = _mm512_mullo_epi32(_mm512_cvttps_epi32(row), _mm512_set1_epi32(step));
    return _mm512_i32gather_ps(_mm512_add_epi32(first, lanes), p, sizeof(float));
  }
  // Of each the sum of its lanes: finished(0, sums) at p[0] ... p[3] of the first row, the next row `step` floats
  // further on. Lanes are added as halves, halves of these, neighbours and neighbours of these: of 16 registers all at
  // once, each step a permute and a blend, or two permutes, for two registers.
  template <class Finished = AsTheyAre>
  static void store_sums(float* p, std::int64_t step, const Floats (&of)[4][4],
                         const Finished& finished = {}) noexcept {
    Floats quarters[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      quarters[i] = quarter_sums(half_sums(of[0][i], of[1][i]), half_sums(of[2][i], of[3][i]));
    }
    const Floats sums =
        pair_sums(pair_sums(quarters[0], quarters[1]), pair_sums(quarters[2], quarters[3]));  // a row in each quarter
    _mm_storeu_ps(p, finished(0, _mm512_castps512_ps128(sums)));
    _mm_storeu_ps(p + step, finished(1, _mm512_extractf32x4_ps(sums, 1)));
    _mm_storeu_ps(p + 2 * step, finished(2, _mm512_extractf32x4_ps(sums, 2)));
    _mm_storeu_ps(p + 3 * step, finished(3, _mm512_extractf32x4_ps(sums, 3)));
  }
  template <class Finished = AsTheyAre>
  static void store_sums(float* p, std::int64_t, const Floats (&of)[1][4], const Finished& finished = {}) noexcept {
    __m128 quarters[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(of[0][i]), _mm512_extractf32x8_ps(of[0][i], 1));
      quarters[i] = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    }
    const __m128 sums = _mm_hadd_ps(_mm_hadd_ps(quarters[0], quarters[1]), _mm_hadd_ps(quarters[2], quarters[3]));
    _mm_storeu_ps(p, finished(0, sums));
  }

  static Floats load(const float* p, All) noexcept { return _mm512_loadu_ps(p); }
  static Floats load(const float* p, Some some) noexcept { return _mm512_maskz_loadu_ps(first_16(some), p); }
  static void store(float* p, Floats a, All) noexcept { _mm512_storeu_ps(p, a); }
  static void store(float* p, Floats a, Some some) noexcept { _mm512_mask_storeu_ps(p, first_16(some), a); }
  // p[0] p[0] p[1] p[1] ... of 8 floats.
  static Floats load_twice(const float* p, All) noexcept { return twice(_mm256_loadu_ps(p)); }
  static Floats load_twice(const float* p, Some some) noexcept {
    return twice(_mm256_maskz_loadu_ps(static_cast<__mmask8>(first_16(some)), p));
  }

  static Floats load_f16(const std::uint16_t* p, All) noexcept {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static Floats load_f16(const std::uint16_t* p, Some some) noexcept {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_16(some), p));
  }
  // 32 of binary16, dealt to even and odd: as words, which takes one permutation where floats take two.
  template <class Count>
  static void load_f16(const std::uint16_t* p, Floats& even, Floats& odd, Count count) noexcept {
    const __m512i order = _mm512_set_epi16(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1,  //
                                           30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i dealt = _mm512_permutexvar_epi16(order, load_words(p, count));
    even = _mm512_cvtph_ps(_mm512_castsi512_si256(dealt));
    odd = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(dealt, 1));
  }
  static void store_f16(std::uint16_t* p, Floats a, All) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(a, kNearest));
  }
  static void store_f16(std::uint16_t* p, Floats a, Some some) noexcept {
    _mm256_mask_storeu_epi16(p, first_16(some), _mm512_cvtps_ph(a, kNearest));
  }

  // 16 of bfloat16, in order.
  static Floats load_bf16(const std::uint16_t* p, All) noexcept {
    return widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static Floats load_bf16(const std::uint16_t* p, Some some) noexcept {
    return widen(_mm256_maskz_loadu_epi16(first_16(some), p));
  }
  static void store_bf16(std::uint16_t* p, Floats a, All) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), narrowed(a));
  }
  static void store_bf16(std::uint16_t* p, Floats a, Some some) noexcept {
    _mm256_mask_storeu_epi16(p, first_16(some), narrowed(a));
  }

  // 32 of bfloat16, dealt to even and odd.
  static void load_bf16(const std::uint16_t* p, Floats& even, Floats& odd, All) noexcept {
    widen(keep(_mm512_loadu_si512(p)), even, odd);
  }
  static void load_bf16(const std::uint16_t* p, Floats& even, Floats& odd, Some some) noexcept {
    widen(_mm512_maskz_loadu_epi16(first_32(some), p), even, odd);
  }
  static void store_bf16(std::uint16_t* p, Floats even, Floats odd, All) noexcept {
    _mm512_storeu_si512(p, narrowed(even, odd));
  }
  // The same for all but ties, which go away from 0, and for NaNs of bf16_nan. vcvtne2ps2bf16 lost: what it gives must
  // be permuted, and its zeros looked at, since it makes them of denormals too; 1.88 of a pass of XOR where this
  // is 1.65.
  static void store_bf16(std::uint16_t* p, Floats even, Floats odd, All, Bf16Doubt& doubt) noexcept {
    _mm512_storeu_si512(p, narrowed(even, odd, doubt));
  }
  static void store_bf16(std::uint16_t* p, Floats even, Floats odd, Some some, Bf16Doubt& doubt) noexcept {
    _mm512_mask_storeu_epi16(p, first_32(some), narrowed(even, odd, doubt));  // the zeros behind are no ties
  }
  static void store_bf16(std::uint16_t* p, Floats even, Floats odd, Some some) noexcept {
    _mm512_mask_storeu_epi16(p, first_32(some), narrowed(even, odd));
  }

  // What store_bf16 of both stores.
  static __m512i pairs_of_bf16(Floats even, Floats odd) noexcept { return narrowed(even, odd); }

  // a, where it is a NaN one of bfloat16, quiet: with a lower half of 0 it stays a NaN whatever half is added.
  static Floats bf16_nan(Floats a) noexcept {
    const __mmask16 nans = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
    const __m512i upper = _mm512_and_si512(_mm512_castps_si512(a), _mm512_set1_epi32(kUpper));
    const __m512i nan = _mm512_or_si512(upper, _mm512_set1_epi32(0x400000));
    return _mm512_mask_mov_ps(a, nans, _mm512_castsi512_ps(nan));
  }

  // a, which is in a register from here on: else GCC makes two loads of one, each where it is used, and out of order.
  template <class Register>
  static Register keep(Register a) noexcept {
    asm volatile("" : "+v"(a));
    return a;
  }

  [[gnu::always_inline]] static void fetch(const void* p) noexcept {
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
  }
  [[gnu::always_inline]] static void fetch_for_later(const void* p) noexcept {
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1);
  }

 private:
  // Of a its halves added, of b likewise: 8 lanes each.
  static Floats half_sums(Floats a, Floats b) noexcept {
    return _mm512_add_ps(_mm512_mask_blend_ps(0xFF00, a, b), _mm512_shuffle_f32x4(a, b, 0x4E));
  }
  // Quarters 0 and 1, 2 and 3 of a added, of b likewise: 4 lanes each.
  static Floats quarter_sums(Floats a, Floats b) noexcept {
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xDD));
  }
  // In each quarter: a0 + a1, a2 + a3, b0 + b1, b2 + b3.
  static Floats pair_sums(Floats a, Floats b) noexcept {
    return _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xDD));
  }
  static constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  static constexpr int kUpper = -0x10000;  // the upper half of a lane

  static __m512i load_words(const std::uint16_t* p, All) noexcept { return _mm512_loadu_si512(p); }
  static __m512i load_words(const std::uint16_t* p, Some some) noexcept {
    return _mm512_maskz_loadu_epi16(first_32(some), p);
  }

  static __mmask32 first_32(Some some) noexcept {
    return some.n >= 32 ? ~__mmask32{0} : (__mmask32{1} << static_cast<unsigned>(some.n)) - 1U;
  }

  // even and odd as bfloat16, nearest, ties to even; a NaN stays one and becomes quiet.
  static __m512i narrowed(Floats even, Floats odd) noexcept { return packed(rounded(even), rounded(odd)); }
  // The same but for ties.
  static __m512i narrowed(Floats even, Floats odd, Bf16Doubt& doubt) noexcept {
    const __m512i half = _mm512_set1_epi32(0x8000);
    const __m512i low = _mm512_add_epi32(_mm512_castps_si512(even), half);
    const __m512i high = _mm512_add_epi32(_mm512_castps_si512(odd), half);
    doubt.others = _mm512_mask_test_epi32_mask(doubt.others, low, _mm512_set1_epi32(0xFFFF));
    doubt.others = _mm512_mask_test_epi32_mask(doubt.others, high, _mm512_set1_epi32(0xFFFF));
    return packed(low, high);
  }
  // The upper halves of the lanes, those of `low` in the lower.
  static __m512i packed(__m512i low, __m512i high) noexcept {
    constexpr int kFirstOrBothOthers = 0xF8;
    return _mm512_ternarylogic_epi32(_mm512_srli_epi32(low, 16), high, _mm512_set1_epi32(kUpper), kFirstOrBothOthers);
  }

  static __mmask16 first_16(Some some) noexcept { return static_cast<__mmask16>(first_32(some)); }
  static Floats twice(__m256 a) noexcept {
    const __m512i lanes = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    return _mm512_permutexvar_ps(lanes, _mm512_castps256_ps512(a));
  }
  static Floats widen(__m256i a) noexcept {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(a), 16));
  }
  static __m256i narrowed(Floats a) noexcept { return _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded(a), 16)); }
  static void widen(__m512i a, Floats& even, Floats& odd) noexcept {
    even = _mm512_castsi512_ps(_mm512_slli_epi32(a, 16));
    odd = _mm512_castsi512_ps(_mm512_and_si512(a, _mm512_set1_epi32(kUpper)));
  }
  // The bfloat16 in the upper half of each lane, anything in the lower half.
  static __m512i rounded(Floats a) noexcept {
    const __m512i bits = _mm512_castps_si512(a);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    const __mmask16 numbers = _mm512_cmp_ps_mask(a, a, _CMP_ORD_Q);
    return _mm512_mask_add_epi32(quiet, numbers, _mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF)), odd);
  }
};

}  // namespace
