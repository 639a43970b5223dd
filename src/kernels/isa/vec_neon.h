// Two doubles in a register of NEON, as every AArch64 has it: the vector V of the angle kernel (kernels/angles_loop.h);
// vec_avx2.h lists what it must have.
#pragma once

#include <arm_neon.h>

#include <cstdint>

namespace {

struct NeonVec {
  using Doubles = float64x2_t;
  static constexpr std::int64_t kLanes = 2;

  static Doubles all(double x) noexcept { return vdupq_n_f64(x); }
  static Doubles load(const double* p) noexcept { return vld1q_f64(p); }
  // What is less than all of two is one.
  static Doubles load_some(const double* p, std::int64_t) noexcept {
    return vcombine_f64(vld1_f64(p), vdup_n_f64(0.0));
  }
  static void store_floats(float* p, Doubles a) noexcept { vst1_f32(p, vcvt_f32_f64(a)); }
  static void store_some_floats(float* p, Doubles a, std::int64_t) noexcept { vst1_lane_f32(p, vcvt_f32_f64(a), 0); }

  static Doubles add(Doubles a, Doubles b) noexcept { return vaddq_f64(a, b); }
  static Doubles sub(Doubles a, Doubles b) noexcept { return vsubq_f64(a, b); }
  static Doubles mul(Doubles a, Doubles b) noexcept { return vmulq_f64(a, b); }
  static Doubles fma(Doubles a, Doubles b, Doubles c) noexcept { return vfmaq_f64(c, a, b); }
  // a b + c and a b - c with the product exact, the sum rounded once.
  static Doubles product_add(Doubles a, Doubles b, Doubles c) noexcept { return vfmaq_f64(c, a, b); }
  static Doubles product_sub(Doubles a, Doubles b, Doubles c) noexcept { return vfmaq_f64(vnegq_f64(c), a, b); }

  template <int kBits>
  static Doubles shift_left(Doubles a) noexcept {
    return vreinterpretq_f64_u64(vshlq_n_u64(bits(a), kBits));
  }
  static Doubles bit_xor(Doubles a, Doubles b) noexcept { return vreinterpretq_f64_u64(veorq_u64(bits(a), bits(b))); }
  // a, negated where b's sign bit is set.
  static Doubles flip_sign(Doubles a, Doubles b) noexcept {
    return bit_xor(a, vreinterpretq_f64_u64(vandq_u64(bits(b), bits(all(-0.0)))));
  }
  static Doubles magnitude(Doubles a) noexcept { return vabsq_f64(a); }
  static Doubles select_by_sign(Doubles which, Doubles set, Doubles clear) noexcept {
    return vbslq_f64(vcltzq_s64(vreinterpretq_s64_f64(which)), set, clear);
  }

 private:
  static uint64x2_t bits(Doubles a) noexcept { return vreinterpretq_u64_f64(a); }
};

}  // namespace
