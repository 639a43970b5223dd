// Two codes of a quantised KV cache as floats, in plain C++: ScalarFloats and the loads that kernels/codes/load_codes.h
// wants; codes_avx2.h lists what it must have.
#pragma once

#include "kernels/isa/floats_scalar.h"

namespace {

struct ScalarCodes : ScalarFloats {
  template <class Count>
  static Floats load_int8(const std::uint8_t* p, Count count) noexcept {
    return each(count, [p](std::int64_t n) { return static_cast<float>(static_cast<std::int8_t>(p[n])); });
  }
  template <class Count>
  static Floats load_uint8(const std::uint8_t* p, Count count) noexcept {
    return each(count, [p](std::int64_t n) { return static_cast<float>(p[n]); });
  }
  template <class Count>
  static Floats load_int4(const std::uint8_t* p, Count count) noexcept {
    return each(count, [p](std::int64_t n) { return static_cast<float>((half(p, n) ^ 8) - 8); });
  }
  template <class Count>
  static Floats load_uint4(const std::uint8_t* p, Count count) noexcept {
    return each(count, [p](std::int64_t n) { return static_cast<float>(half(p, n)); });
  }
  // Of sign, exponent and mantissa those of binary16 but for the exponent's bias, 7 for 15: times 2^8. What would be
  // 480 is NaN.
  template <class Count>
  static Floats load_e4m3(const std::uint8_t* p, Count count) noexcept {
    return each(count, [p](std::int64_t n) {
      const bool is_nan = (p[n] & 0x7F) == 0x7F;
      const auto f16 = static_cast<std::uint16_t>((p[n] & 0x80) << 8 | (is_nan ? 0x7E00 : (p[n] & 0x7F) << 7));
      return load_f16(&f16, Some{1}).lane[0] * 256.0F;
    });
  }
  // The upper byte of binary16.
  template <class Count>
  static Floats load_e5m2(const std::uint8_t* p, Count count) noexcept {
    return each(count, [p](std::int64_t n) {
      const auto f16 = static_cast<std::uint16_t>(p[n] << 8);
      return load_f16(&f16, Some{1}).lane[0];
    });
  }
  static Floats all_f16(const std::uint8_t* p) noexcept {
    std::uint16_t f16 = 0;
    __builtin_memcpy(&f16, p, sizeof f16);
    return all(load_f16(&f16, Some{1}).lane[0]);
  }
  // Channels i .. of a block, i even, from the half bytes at p.
  static Floats load_halves_less_8(const std::uint8_t* p, std::int64_t i) noexcept {
    return each(All{}, [=](std::int64_t n) { return static_cast<float>(half_of_block(p, i + n) - 8); });
  }
  // The same with a fifth bit each, which stand before the half bytes.
  static Floats load_fifths(const std::uint8_t* p, std::int64_t i) noexcept {
    std::uint32_t fifth = 0;
    __builtin_memcpy(&fifth, p, sizeof fifth);
    return each(All{}, [=](std::int64_t n) {
      const std::uint32_t bit = fifth >> static_cast<unsigned>(i + n) & 1U;
      return static_cast<float>(half_of_block(p + sizeof fifth, i + n) + static_cast<int>(16 * bit));
    });
  }

 private:
  template <class Number>
  static Floats each(All, const Number& number) noexcept {
    return {{number(0), number(1)}};
  }
  template <class Number>
  static Floats each(Some some, const Number& number) noexcept {
    return {{some.n > 0 ? number(0) : 0.0F, some.n > 1 ? number(1) : 0.0F}};
  }
  static int half(const std::uint8_t* p, std::int64_t n) noexcept { return p[n / 2] >> (n % 2 * 4) & 15; }
  static int half_of_block(const std::uint8_t* p, std::int64_t i) noexcept { return p[i % 16] >> (i / 16 * 4) & 15; }
};

}  // namespace
