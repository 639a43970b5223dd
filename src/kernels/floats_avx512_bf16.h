// AVX-512 with the instructions of AVX512_BF16, which round to bfloat16 as IEEE asks but for denormals: they become 0.
#pragma once

#include "kernels/floats_avx512.h"

namespace {

struct Avx512Bf16Floats : Avx512Floats {
  static void store_bf16(std::uint16_t* p, Floats even, Floats odd, All) noexcept {
    _mm512_storeu_si512(p, converted(even, odd));
  }
  static void store_bf16(std::uint16_t* p, Floats even, Floats odd, Some some) noexcept {
    _mm512_mask_storeu_epi16(p, first_32(some), converted(even, odd));
  }

 private:
  static __m512i converted(Floats even, Floats odd) noexcept {
    const __m512i dealt = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                           21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i out = _mm512_permutexvar_epi16(dealt, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd, even)));
    // What became 0 is rare, and may have been a denormal.
    if (__builtin_expect(_mm512_testn_epi16_mask(out, _mm512_set1_epi16(0x7FFF)) != 0, 0)) return narrowed(even, odd);
    return out;
  }
};

}  // namespace
