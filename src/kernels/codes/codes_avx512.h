// Sixteen codes of a quantised KV cache as floats, in a register of AVX-512: Avx512Floats and the loads that
// kernels/codes/load_codes.h wants. Half bytes become floats by a table of 16, one permutation.
#pragma once

#include "kernels/isa/floats_avx512.h"

namespace {

struct Avx512Codes : Avx512Floats {
  template <class Count>
  static Floats load_int8(const std::uint8_t* p, Count count) noexcept {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes(p, count)));
  }
  template <class Count>
  static Floats load_uint8(const std::uint8_t* p, Count count) noexcept {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes(p, count)));
  }
  template <class Count>
  static Floats load_int4(const std::uint8_t* p, Count count) noexcept {
    const __m512 values = _mm512_set_ps(-1, -2, -3, -4, -5, -6, -7, -8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_permutexvar_ps(halves(p, count), values);
  }
  template <class Count>
  static Floats load_uint4(const std::uint8_t* p, Count count) noexcept {
    const __m512 values = _mm512_set_ps(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_permutexvar_ps(halves(p, count), values);
  }
  // Of sign, exponent and mantissa those of binary16 but for the exponent's bias, 7 for 15: times 2^8. What would be
  // 480 is NaN.
  template <class Count>
  static Floats load_e4m3(const std::uint8_t* p, Count count) noexcept {
    const __m256i wide = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes(p, count)), 7);
    const __m256i half = _mm256_and_si256(wide, _mm256_set1_epi16(static_cast<std::int16_t>(0xBFFF)));
    const __m256i size = _mm256_and_si256(wide, _mm256_set1_epi16(0x3F80));
    const __mmask16 nans = _mm256_cmpeq_epi16_mask(size, _mm256_set1_epi16(0x3F80));
    const __m256i f16 = _mm256_mask_mov_epi16(half, nans, _mm256_set1_epi16(0x7E00));
    return mul(_mm512_cvtph_ps(f16), all(256.0F));
  }
  // The upper byte of binary16.
  template <class Count>
  static Floats load_e5m2(const std::uint8_t* p, Count count) noexcept {
    return _mm512_cvtph_ps(_mm256_slli_epi16(_mm256_cvtepu8_epi16(bytes(p, count)), 8));
  }
  static Floats all_f16(const std::uint8_t* p) noexcept {
    std::int16_t bits = 0;
    __builtin_memcpy(&bits, p, sizeof bits);
    return _mm512_cvtph_ps(_mm256_set1_epi16(bits));
  }
  // Channels i .. of a block, i a multiple of 16, from the half bytes at p.
  static Floats load_halves_less_8(const std::uint8_t* p, std::int64_t i) noexcept {
    const __m512 values = _mm512_set_ps(7, 6, 5, 4, 3, 2, 1, 0, -1, -2, -3, -4, -5, -6, -7, -8);
    return _mm512_permutexvar_ps(halves_of_block(p, i), values);
  }
  // The same with a fifth bit each, which stand before the half bytes.
  static Floats load_fifths(const std::uint8_t* p, std::int64_t i) noexcept {
    std::uint32_t fifth = 0;
    __builtin_memcpy(&fifth, p, sizeof fifth);
    const __m512i half = _mm512_and_si512(halves_of_block(p + sizeof fifth, i), _mm512_set1_epi32(15));
    const auto set = static_cast<__mmask16>(fifth >> static_cast<unsigned>(i));
    return _mm512_cvtepi32_ps(_mm512_mask_or_epi32(half, set, half, _mm512_set1_epi32(16)));
  }

 private:
  static __m128i bytes(const std::uint8_t* p, All) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static __m128i bytes(const std::uint8_t* p, Some some) noexcept {
    return _mm_maskz_loadu_epi8(static_cast<__mmask16>((1U << static_cast<unsigned>(some.n)) - 1U), p);
  }
  // 16 half bytes, each in the lowest bits of a lane.
  static __m512i halves(const std::uint8_t* p, All) noexcept {
    return apart(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  static __m512i halves(const std::uint8_t* p, Some some) noexcept { return apart(bytes(p, Some{some.n / 2})); }
  static __m512i apart(__m128i eight) noexcept {
    const __m512i each = _mm512_cvtepu8_epi64(eight);
    return _mm512_or_si512(each, _mm512_slli_epi64(each, 28));
  }
  static __m512i halves_of_block(const std::uint8_t* p, std::int64_t i) noexcept {
    const __m512i both = _mm512_cvtepu8_epi32(bytes(p, All{}));
    return i < 16 ? both : _mm512_srli_epi32(both, 4);
  }
};

}  // namespace
