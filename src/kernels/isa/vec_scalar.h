// One double at a time, in plain C++: the vector V of the angle kernel (kernels/angles_loop.h) on every machine;
// vec_avx2.h lists what it must have. No fused multiply-add: without the instruction it would be a call into the C
// library.
#pragma once

#include <cstdint>

namespace {

struct ScalarVec {
  using Doubles = double;
  static constexpr std::int64_t kLanes = 1;

  static Doubles all(double x) noexcept { return x; }
  static Doubles load(const double* p) noexcept { return *p; }
  static Doubles load_some(const double* p, std::int64_t) noexcept { return *p; }
  static void store_floats(float* p, Doubles a) noexcept { *p = static_cast<float>(a); }
  static void store_some_floats(float* p, Doubles a, std::int64_t) noexcept { store_floats(p, a); }

  static Doubles add(Doubles a, Doubles b) noexcept { return a + b; }
  static Doubles sub(Doubles a, Doubles b) noexcept { return a - b; }
  static Doubles mul(Doubles a, Doubles b) noexcept { return a * b; }
  static Doubles fma(Doubles a, Doubles b, Doubles c) noexcept { return a * b + c; }

  // a b + c and a b - c with the product exact, the sum rounded twice: Dekker's product, Numer. Math. 18 (1971).
  static Doubles product_add(Doubles a, Doubles b, Doubles c) noexcept {
    const double product = a * b;
    return (product + c) + residual(a, b, product);
  }
  static Doubles product_sub(Doubles a, Doubles b, Doubles c) noexcept { return product_add(a, b, -c); }

  template <int kBits>
  static Doubles shift_left(Doubles a) noexcept {
    return from_bits(bits(a) << kBits);
  }
  static Doubles bit_xor(Doubles a, Doubles b) noexcept { return from_bits(bits(a) ^ bits(b)); }
  // a, negated where b's sign bit is set.
  static Doubles flip_sign(Doubles a, Doubles b) noexcept { return from_bits(bits(a) ^ (bits(b) & kSign)); }
  static Doubles magnitude(Doubles a) noexcept { return from_bits(bits(a) & ~kSign); }
  static Doubles select_by_sign(Doubles which, Doubles set, Doubles clear) noexcept {
    return (bits(which) & kSign) != 0 ? set : clear;
  }

 private:
  static constexpr std::uint64_t kSign = 0x8000000000000000U;
  static std::uint64_t bits(double a) noexcept { return __builtin_bit_cast(std::uint64_t, a); }
  static double from_bits(std::uint64_t a) noexcept { return __builtin_bit_cast(double, a); }

  // Veltkamp: the upper 26 bits of a. 2^27 + 1 splits 53 bits in two halves.
  static double upper_half(double a) noexcept {
    const double scaled = 134217729.0 * a;
    return scaled - (scaled - a);
  }
  static double residual(double a, double b, double product) noexcept {
    const double a1 = upper_half(a);
    const double b1 = upper_half(b);
    const double a2 = a - a1;
    const double b2 = b - b1;
    return ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2;
  }
};

}  // namespace
