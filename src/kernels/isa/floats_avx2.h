// Eight floats in a register of AVX2, with FMA3 and F16C: the vector V of the kernels for RoPE, conversion, norms and
// attention (rotate_loop.h, convert_loop.h, norm_loop.h, score_loop.h, product_loop.h, decode_loop.h).
//
// The interface is the same in floats_scalar.h, floats_avx2.h, floats_avx512.h and floats_neon.h: arithmetic, loads and
// stores of f32, f16 and bf16 for whole registers (All) and tails (Some), interleaving and deinterleaving of pairs of
// channels, gathers, horizontal sums and prefetch. f16 is converted by F16C, bf16 by shifts, to nearest, ties to even.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/lanes.h"

namespace {

struct Avx2Floats {
  using Floats = __m256;
  using All = posenc::kernels::All;
  using Some = posenc::kernels::Some;

  // Whether an element lay halfway between two of bfloat16, as in floats_avx512.h.
  struct Bf16Doubt {
    __m256i least = _mm256_set1_epi32(-1);  // of the lower halves, after half was added: 0 is a tie
    bool is_open() const noexcept {
      return __builtin_expect(_mm256_movemask_epi8(_mm256_cmpeq_epi16(least, _mm256_setzero_si256())), 0) != 0;
    }
  };

  static constexpr std::int64_t kLanes = 8;
  static constexpr std::size_t kRegisters = 16;  // cos and sin beyond them are operands in memory, which costs nothing
  static constexpr int kProductRows = 4;         // at a time: with 3 registers of lanes, 12 sums
  static constexpr int kDotRows = 2;             // with kDecodeLanes lanes each

  static Floats all(float x) noexcept { return _mm256_set1_ps(x); }
  static Floats add(Floats a, Floats b) noexcept { return _mm256_add_ps(a, b); }
  static Floats sub(Floats a, Floats b) noexcept { return _mm256_sub_ps(a, b); }
  static Floats mul(Floats a, Floats b) noexcept { return _mm256_mul_ps(a, b); }
  static Floats fma(Floats a, Floats b, Floats c) noexcept { return _mm256_fmadd_ps(a, b, c); }
  static Floats fms(Floats a, Floats b, Floats c) noexcept { return _mm256_fmsub_ps(a, b, c); }
  // Lanes 0 1 2 3 ... -> 1 0 3 2 ...
  static Floats swap_pairs(Floats a) noexcept { return _mm256_permute_ps(a, 0xB1); }
  // a, negated in lanes 0 2 4 ...
  static Floats negate_even(Floats a) noexcept {
    return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi64x(0x80000000)));
  }
  // Of 16 floats those at even and those at odd places.
  static void deal(Floats low, Floats high, Floats& even, Floats& odd) noexcept {
    even = in_order(_mm256_shuffle_ps(low, high, 0x88));
    odd = in_order(_mm256_shuffle_ps(low, high, 0xDD));
  }

  static Floats div(Floats a, Floats b) noexcept { return _mm256_div_ps(a, b); }
  static Floats max(Floats a, Floats b) noexcept { return _mm256_max_ps(a, b); }
  // x where a < b, else y.
  static Floats where_less(Floats a, Floats b, Floats x, Floats y) noexcept {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
  }
  // a 2^n, with n from -126 to 127, which stands in the lowest bits of `shifted` too; NaN for NaN.
  static Floats times_two_to(Floats a, Floats, Floats shifted) noexcept {
    const __m256i n = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
    return mul(a, _mm256_castsi256_ps(_mm256_add_epi32(n, _mm256_castps_si256(all(1.0F)))));
  }
  // p[index[0]] p[index[1]] ..., and p[index[0]] p[index[1] + 1] p[index[2] + 2] ...
  static Floats gather(const float* p, const std::int32_t* index) noexcept {
    return _mm256_i32gather_ps(p, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(index)), sizeof(float));
  }
  static Floats gather_by_lane(const float* p, const std::int32_t* index) noexcept {
    const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(index));
    const __m256i lanes = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    return _mm256_i32gather_ps(p, _mm256_add_epi32(at, lanes), sizeof(float));
  }
  // Without its fraction: a of 0 .. 2^31.
  static Floats whole(Floats a) noexcept { return _mm256_cvtepi32_ps(_mm256_cvttps_epi32(a)); }
  // p[row[0] step] p[row[1] step + 1] ..., of whole numbers.
  static Floats gather_rows(const float* p, Floats row, std::int32_t step) noexcept {
    const __m256i lanes = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    const __m256i first = _mm256_mullo_epi32(_mm256_cvttps_epi32(row), _mm256_set1_epi32(step));
    return _mm256_i32gather_ps(p, _mm256_add_epi32(first, lanes), sizeof(float));
  }
  // Of each the sum of its lanes: finished(0, sums) at p[0] ... p[3] of the first row, the next row `step` floats
  // further on.
  template <int kRows, class Finished = posenc::kernels::AsTheyAre>
  static void store_sums(float* p, std::int64_t step, const Floats (&of)[kRows][4],
                         const Finished& finished = {}) noexcept {
    for (int r = 0; r < kRows; ++r) {
      const Floats sums = _mm256_hadd_ps(_mm256_hadd_ps(of[r][0], of[r][1]), _mm256_hadd_ps(of[r][2], of[r][3]));
      _mm_storeu_ps(p + r * step,
                    finished(r, _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1))));
    }
  }

  static Floats load(const float* p, All) noexcept { return _mm256_loadu_ps(p); }
  static Floats load(const float* p, Some some) noexcept { return _mm256_maskload_ps(p, first(some)); }
  static void store(float* p, Floats a, All) noexcept { _mm256_storeu_ps(p, a); }
  static void store(float* p, Floats a, Some some) noexcept { _mm256_maskstore_ps(p, first(some), a); }
  // p[0] p[0] p[1] p[1] ... of 4 floats.
  static Floats load_twice(const float* p, All) noexcept { return twice(_mm_loadu_ps(p)); }
  static Floats load_twice(const float* p, Some some) noexcept {
    return twice(_mm_maskload_ps(p, _mm256_castsi256_si128(first(some))));
  }

  static Floats load_f16(const std::uint16_t* p, All) noexcept {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static Floats load_f16(const std::uint16_t* p, Some some) noexcept {
    std::uint16_t whole[kLanes] = {};
    __builtin_memcpy(whole, p, bytes(some));
    return load_f16(whole, All{});
  }
  static void store_f16(std::uint16_t* p, Floats a, All) noexcept {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static void store_f16(std::uint16_t* p, Floats a, Some some) noexcept {
    std::uint16_t whole[kLanes];
    store_f16(whole, a, All{});
    __builtin_memcpy(p, whole, bytes(some));
  }

  // 8 of bfloat16, in order.
  static Floats load_bf16(const std::uint16_t* p, All) noexcept {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(a), 16));
  }
  static Floats load_bf16(const std::uint16_t* p, Some some) noexcept {
    std::uint16_t whole[kLanes] = {};
    __builtin_memcpy(whole, p, bytes(some));
    return load_bf16(whole, All{});
  }
  static void store_bf16(std::uint16_t* p, Floats a, All) noexcept {
    const __m256i low = _mm256_srli_epi32(rounded(a), 16);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(packed));
  }
  static void store_bf16(std::uint16_t* p, Floats a, Some some) noexcept {
    std::uint16_t whole[kLanes];
    store_bf16(whole, a, All{});
    __builtin_memcpy(p, whole, bytes(some));
  }

  // 16 of bfloat16, dealt to even and odd.
  static void load_bf16(const std::uint16_t* p, Floats& even, Floats& odd, All) noexcept {
    const __m256i a = keep(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    even = _mm256_castsi256_ps(_mm256_slli_epi32(a, 16));
    odd = _mm256_castsi256_ps(_mm256_and_si256(a, _mm256_set1_epi32(kUpper)));
  }
  static void load_bf16(const std::uint16_t* p, Floats& even, Floats& odd, Some some) noexcept {
    std::uint16_t whole[2 * kLanes] = {};
    __builtin_memcpy(whole, p, bytes(some));
    load_bf16(whole, even, odd, All{});
  }
  static void store_bf16(std::uint16_t* p, Floats even, Floats odd, All) noexcept {
    const __m256i low = _mm256_srli_epi32(rounded(even), 16);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_blend_epi16(low, rounded(odd), 0xAA));
  }
  // The same for all but ties, which go away from 0, and for NaNs of bf16_nan.
  static void store_bf16(std::uint16_t* p, Floats even, Floats odd, All, Bf16Doubt& doubt) noexcept {
    const __m256i half = _mm256_set1_epi32(0x8000);
    const __m256i low = _mm256_add_epi32(_mm256_castps_si256(even), half);
    const __m256i high = _mm256_add_epi32(_mm256_castps_si256(odd), half);
    const __m256i lower = _mm256_blend_epi16(low, _mm256_slli_epi32(high, 16), 0xAA);
    doubt.least = _mm256_min_epu16(doubt.least, lower);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_blend_epi16(_mm256_srli_epi32(low, 16), high, 0xAA));
  }
  static void store_bf16(std::uint16_t* p, Floats even, Floats odd, Some some) noexcept {
    std::uint16_t whole[2 * kLanes];
    store_bf16(whole, even, odd, All{});
    __builtin_memcpy(p, whole, bytes(some));
  }

  // a, which is in a register from here on: else GCC makes two loads of one, each where it is used, and out of order.
  template <class Register>
  static Register keep(Register a) noexcept {
    asm volatile("" : "+v"(a));
    return a;
  }

  // a, where it is a NaN one of bfloat16, quiet: with a lower half of 0 it stays a NaN whatever half is added.
  static Floats bf16_nan(Floats a) noexcept {
    const __m256i upper = _mm256_and_si256(_mm256_castps_si256(a), _mm256_set1_epi32(kUpper));
    const __m256i nan = _mm256_or_si256(upper, _mm256_set1_epi32(0x400000));
    return _mm256_blendv_ps(a, _mm256_castsi256_ps(nan), _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
  }

  [[gnu::always_inline]] static void fetch(const void* p) noexcept {
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
  }
  [[gnu::always_inline]] static void fetch_for_later(const void* p) noexcept {
    _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1);
  }

 private:
  static constexpr int kUpper = -0x10000;  // the upper half of a lane

  static std::size_t bytes(Some some) noexcept { return static_cast<std::size_t>(some.n) * sizeof(std::uint16_t); }
  static __m256i first(Some some) noexcept {
    const __m256i lanes = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(some.n)), lanes);
  }
  // 128-bit halves hold l0 l2 h0 h2 and l4 l6 h4 h6.
  static Floats in_order(Floats a) noexcept {
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(a), 0xD8));
  }
  static Floats twice(__m128 a) noexcept {
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(a), _mm256_set_epi32(3, 3, 2, 2, 1, 1, 0, 0));
  }
  // The nearest bfloat16, ties to even, in the upper half of each lane; a NaN stays one and becomes quiet.
  static __m256i rounded(Floats a) noexcept {
    const __m256i bits = _mm256_castps_si256(a);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), odd);
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const Floats is_nan = _mm256_cmp_ps(a, a, _CMP_UNORD_Q);
    return _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(up), _mm256_castsi256_ps(quiet), is_nan));
  }
};

}  // namespace
