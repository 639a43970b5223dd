// Eight doubles in a register of AVX-512 (F, DQ, VL, BW): the vector V of the angle kernel (kernels/angles_loop.h);
// vec_avx2.h lists what it must have. Tails are masked loads and stores, which touch no memory beyond the row.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace {

struct Avx512Vec {
  using Doubles = __m512d;
  static constexpr std::int64_t kLanes = 8;

  static Doubles all(double x) noexcept { return _mm512_set1_pd(x); }
  static Doubles load(const double* p) noexcept { return _mm512_loadu_pd(p); }
  static Doubles load_some(const double* p, std::int64_t count) noexcept {
    return _mm512_maskz_loadu_pd(first_lanes(count), p);
  }
  static void store_floats(float* p, Doubles a) noexcept { _mm256_storeu_ps(p, _mm512_cvtpd_ps(a)); }
  static void store_some_floats(float* p, Doubles a, std::int64_t count) noexcept {
    _mm256_mask_storeu_ps(p, first_lanes(count), _mm512_cvtpd_ps(a));
  }

  static Doubles add(Doubles a, Doubles b) noexcept { return _mm512_add_pd(a, b); }
  static Doubles sub(Doubles a, Doubles b) noexcept { return _mm512_sub_pd(a, b); }
  static Doubles mul(Doubles a, Doubles b) noexcept { return _mm512_mul_pd(a, b); }
  static Doubles fma(Doubles a, Doubles b, Doubles c) noexcept { return _mm512_fmadd_pd(a, b, c); }
  // a b + c and a b - c with the product exact, the sum rounded once.
  static Doubles product_add(Doubles a, Doubles b, Doubles c) noexcept { return _mm512_fmadd_pd(a, b, c); }
  static Doubles product_sub(Doubles a, Doubles b, Doubles c) noexcept { return _mm512_fmsub_pd(a, b, c); }

  template <int kBits>
  static Doubles shift_left(Doubles a) noexcept {
    return _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_castpd_si512(a), kBits));
  }
  static Doubles bit_xor(Doubles a, Doubles b) noexcept { return _mm512_xor_pd(a, b); }
  // a, negated where b's sign bit is set: a ^ (b & sign), truth table 0x78.
  static Doubles flip_sign(Doubles a, Doubles b) noexcept {
    const __m512i sign = _mm512_castpd_si512(all(-0.0));
    return _mm512_castsi512_pd(_mm512_ternarylogic_epi64(_mm512_castpd_si512(a), _mm512_castpd_si512(b), sign, 0x78));
  }
  static Doubles magnitude(Doubles a) noexcept { return _mm512_andnot_pd(all(-0.0), a); }
  static Doubles select_by_sign(Doubles which, Doubles set, Doubles clear) noexcept {
    return _mm512_mask_blend_pd(_mm512_movepi64_mask(_mm512_castpd_si512(which)), clear, set);
  }

 private:
  static __mmask8 first_lanes(std::int64_t count) noexcept {
    return static_cast<__mmask8>((1U << static_cast<unsigned>(count)) - 1U);
  }
};

}  // namespace
