// Four doubles in a register of AVX2, with FMA3: the vector V of the angle kernel (kernels/angles_loop.h).
//
// The interface is the same in vec_scalar.h, vec_avx2.h, vec_avx512.h and vec_neon.h: loads and stores of a whole
// register or of its first lanes, fused multiply-adds, and operations on the bit patterns.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace {

struct Avx2Vec {
  using Doubles = __m256d;
  static constexpr std::int64_t kLanes = 4;

  static Doubles all(double x) noexcept { return _mm256_set1_pd(x); }
  static Doubles load(const double* p) noexcept { return _mm256_loadu_pd(p); }
  static Doubles load_some(const double* p, std::int64_t count) noexcept {
    const __m256i lanes = _mm256_set_epi64x(3, 2, 1, 0);
    return _mm256_maskload_pd(p, _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), lanes));
  }
  static void store_floats(float* p, Doubles a) noexcept { _mm_storeu_ps(p, _mm256_cvtpd_ps(a)); }
  static void store_some_floats(float* p, Doubles a, std::int64_t count) noexcept {
    const __m128i lanes = _mm_set_epi32(3, 2, 1, 0);
    _mm_maskstore_ps(p, _mm_cmpgt_epi32(_mm_set1_epi32(static_cast<int>(count)), lanes), _mm256_cvtpd_ps(a));
  }

  static Doubles add(Doubles a, Doubles b) noexcept { return _mm256_add_pd(a, b); }
  static Doubles sub(Doubles a, Doubles b) noexcept { return _mm256_sub_pd(a, b); }
  static Doubles mul(Doubles a, Doubles b) noexcept { return _mm256_mul_pd(a, b); }
  static Doubles fma(Doubles a, Doubles b, Doubles c) noexcept { return _mm256_fmadd_pd(a, b, c); }
  // a b + c and a b - c with the product exact, the sum rounded once.
  static Doubles product_add(Doubles a, Doubles b, Doubles c) noexcept { return _mm256_fmadd_pd(a, b, c); }
  static Doubles product_sub(Doubles a, Doubles b, Doubles c) noexcept { return _mm256_fmsub_pd(a, b, c); }

  template <int kBits>
  static Doubles shift_left(Doubles a) noexcept {
    return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(a), kBits));
  }
  static Doubles bit_xor(Doubles a, Doubles b) noexcept { return _mm256_xor_pd(a, b); }
  // a, negated where b's sign bit is set.
  static Doubles flip_sign(Doubles a, Doubles b) noexcept { return bit_xor(a, _mm256_and_pd(b, all(-0.0))); }
  static Doubles magnitude(Doubles a) noexcept { return _mm256_andnot_pd(all(-0.0), a); }
  static Doubles select_by_sign(Doubles which, Doubles set, Doubles clear) noexcept {
    return _mm256_blendv_pd(clear, set, which);
  }
};

}  // namespace
