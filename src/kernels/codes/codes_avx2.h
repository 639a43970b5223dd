// Eight codes of a quantised KV cache as floats, in a register of AVX2: Avx2Floats and the loads that
// kernels/codes/load_codes.h wants of a vector. The interface is the same in codes_scalar.h, codes_avx512.h and codes_neon.h.
#pragma once

#include "kernels/isa/floats_avx2.h"

namespace {

struct Avx2Codes : Avx2Floats {
  template <class Count>
  static Floats load_int8(const std::uint8_t* p, Count count) noexcept {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes(p, count)));
  }
  template <class Count>
  static Floats load_uint8(const std::uint8_t* p, Count count) noexcept {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes(p, count)));
  }
  template <class Count>
  static Floats load_int4(const std::uint8_t* p, Count count) noexcept {
    const __m256i up = _mm256_sllv_epi32(halves(p, count), _mm256_set_epi32(0, 4, 8, 12, 16, 20, 24, 28));
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(up, 28));
  }
  template <class Count>
  static Floats load_uint4(const std::uint8_t* p, Count count) noexcept {
    const __m256i down = _mm256_srlv_epi32(halves(p, count), _mm256_set_epi32(28, 24, 20, 16, 12, 8, 4, 0));
    return _mm256_cvtepi32_ps(_mm256_and_si256(down, _mm256_set1_epi32(15)));
  }
  // Of sign, exponent and mantissa those of binary16 but for the exponent's bias, 7 for 15: times 2^8. What would be
  // 480 is NaN.
  template <class Count>
  static Floats load_e4m3(const std::uint8_t* p, Count count) noexcept {
    const __m128i wide = _mm_slli_epi16(_mm_cvtepi8_epi16(bytes(p, count)), 7);
    const __m128i half = _mm_and_si128(wide, _mm_set1_epi16(static_cast<std::int16_t>(0xBFFF)));
    const __m128i size = _mm_and_si128(wide, _mm_set1_epi16(0x3F80));
    const __m128i nan = _mm_and_si128(_mm_cmpeq_epi16(size, _mm_set1_epi16(0x3F80)), _mm_set1_epi16(0x7E00));
    return mul(_mm256_cvtph_ps(_mm_or_si128(half, nan)), all(256.0F));
  }
  // The upper byte of binary16.
  template <class Count>
  static Floats load_e5m2(const std::uint8_t* p, Count count) noexcept {
    return _mm256_cvtph_ps(_mm_slli_epi16(_mm_cvtepu8_epi16(bytes(p, count)), 8));
  }
  static Floats all_f16(const std::uint8_t* p) noexcept {
    std::int16_t bits = 0;
    __builtin_memcpy(&bits, p, sizeof bits);
    return _mm256_cvtph_ps(_mm_set1_epi16(bits));
  }
  // Channels i .. of a block, i a multiple of 8, from the half bytes at p.
  static Floats load_halves_less_8(const std::uint8_t* p, std::int64_t i) noexcept {
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(halves_of_block(p, i), _mm256_set1_epi32(8)));
  }
  // The same with a fifth bit each, which stand before the half bytes.
  static Floats load_fifths(const std::uint8_t* p, std::int64_t i) noexcept {
    std::uint32_t fifth = 0;
    __builtin_memcpy(&fifth, p, sizeof fifth);
    const __m256i all_bits = _mm256_set1_epi32(static_cast<std::int32_t>(fifth >> static_cast<unsigned>(i)));
    const __m256i own = _mm256_srlv_epi32(all_bits, _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
    const __m256i sixteen = _mm256_and_si256(_mm256_slli_epi32(own, 4), _mm256_set1_epi32(16));
    return _mm256_cvtepi32_ps(_mm256_or_si256(halves_of_block(p + sizeof fifth, i), sixteen));
  }

 private:
  static __m128i bytes(const std::uint8_t* p, All) noexcept {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  }
  static __m128i bytes(const std::uint8_t* p, Some some) noexcept {
    std::int64_t whole = 0;
    __builtin_memcpy(&whole, p, static_cast<std::size_t>(some.n));
    return _mm_cvtsi64_si128(whole);
  }
  // Of 8 half bytes all in each lane.
  static __m256i halves(const std::uint8_t* p, All) noexcept {
    std::int32_t whole = 0;
    __builtin_memcpy(&whole, p, sizeof whole);
    return _mm256_set1_epi32(whole);
  }
  static __m256i halves(const std::uint8_t* p, Some some) noexcept {
    std::int32_t whole = 0;
    __builtin_memcpy(&whole, p, static_cast<std::size_t>(some.n / 2));
    return _mm256_set1_epi32(whole);
  }
  static __m256i halves_of_block(const std::uint8_t* p, std::int64_t i) noexcept {
    const __m256i both = _mm256_cvtepu8_epi32(bytes(p + i % 16, All{}));
    return i < 16 ? _mm256_and_si256(both, _mm256_set1_epi32(15)) : _mm256_srli_epi32(both, 4);
  }
};

}  // namespace
