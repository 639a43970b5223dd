// Two floats at a time, a pair, in plain C++: what every machine has. The vector V of the kernels for RoPE, conversion,
// norms and attention; floats_avx2.h lists what it must have.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/lanes.h"

namespace {

struct ScalarFloats {
  struct Floats {
    float lane[2];
  };
  using All = posenc::kernels::All;
  using Some = posenc::kernels::Some;
  using Bf16Doubt = posenc::kernels::Sure;
  static constexpr std::int64_t kLanes = 2;
  static constexpr std::size_t kRegisters = 6;
  static constexpr int kProductRows = 4;  // at a time: with 3 registers of lanes, 12 sums
  static constexpr int kDotRows = 1;      // with kDecodeLanes lanes each

  static Floats all(float x) noexcept { return {{x, x}}; }
  static Floats add(Floats a, Floats b) noexcept { return {{a.lane[0] + b.lane[0], a.lane[1] + b.lane[1]}}; }
  static Floats sub(Floats a, Floats b) noexcept { return {{a.lane[0] - b.lane[0], a.lane[1] - b.lane[1]}}; }
  static Floats mul(Floats a, Floats b) noexcept { return {{a.lane[0] * b.lane[0], a.lane[1] * b.lane[1]}}; }
  // In double the product is exact. The sum is rounded twice, which makes a difference in one of 2^28 cases or so.
  static Floats fma(Floats a, Floats b, Floats c) noexcept {
    return {{fused(a.lane[0], b.lane[0], c.lane[0]), fused(a.lane[1], b.lane[1], c.lane[1])}};
  }
  static Floats fms(Floats a, Floats b, Floats c) noexcept { return fma(a, b, {{-c.lane[0], -c.lane[1]}}); }
  static Floats swap_pairs(Floats a) noexcept { return {{a.lane[1], a.lane[0]}}; }
  static Floats negate_even(Floats a) noexcept { return {{-a.lane[0], a.lane[1]}}; }
  static void deal(Floats low, Floats high, Floats& even, Floats& odd) noexcept {
    even = {{low.lane[0], high.lane[0]}};
    odd = {{low.lane[1], high.lane[1]}};
  }

  static Floats div(Floats a, Floats b) noexcept { return {{a.lane[0] / b.lane[0], a.lane[1] / b.lane[1]}}; }
  // b where either is NaN, as on x86.
  static Floats max(Floats a, Floats b) noexcept { return where_less(b, a, a, b); }
  // x where a < b, else y.
  static Floats where_less(Floats a, Floats b, Floats x, Floats y) noexcept {
    return {{a.lane[0] < b.lane[0] ? x.lane[0] : y.lane[0], a.lane[1] < b.lane[1] ? x.lane[1] : y.lane[1]}};
  }
  // a 2^n, with n from -126 to 127, which stands in the lowest bits of `shifted` too; NaN for NaN.
  static Floats times_two_to(Floats a, Floats, Floats shifted) noexcept {
    return mul(a, {{power_of_two(shifted.lane[0]), power_of_two(shifted.lane[1])}});
  }
  // p[index[0]] p[index[1]], and p[index[0]] p[index[1] + 1]
  static Floats gather(const float* p, const std::int32_t* index) noexcept { return {{p[index[0]], p[index[1]]}}; }
  static Floats gather_by_lane(const float* p, const std::int32_t* index) noexcept {
    return {{p[index[0]], p[index[1] + 1]}};
  }
  // Without its fraction: a of 0 .. 2^31.
  static Floats whole(Floats a) noexcept {
    return {{static_cast<float>(static_cast<std::int32_t>(a.lane[0])),
             static_cast<float>(static_cast<std::int32_t>(a.lane[1]))}};
  }
  // p[row[0] step] p[row[1] step + 1], of whole numbers.
  static Floats gather_rows(const float* p, Floats row, std::int32_t step) noexcept {
    const std::int64_t first = std::int64_t{static_cast<std::int32_t>(row.lane[0])} * step;
    const std::int64_t second = std::int64_t{static_cast<std::int32_t>(row.lane[1])} * step;
    return {{p[first], p[second + 1]}};
  }
  // Of each the sum of its lanes: p[0] ... p[3] of the first row, the next row `step` floats further on.
  template <int kRows>
  static void store_sums(float* p, std::int64_t step, const Floats (&of)[kRows][4]) noexcept {
    for (const Floats(&row)[4] : of) {
      for (int i = 0; i < 4; ++i) p[i] = row[i].lane[0] + row[i].lane[1];
      p += step;
    }
  }

  static Floats load(const float* p, All) noexcept { return {{p[0], p[1]}}; }
  static Floats load(const float* p, Some some) noexcept {
    return {{some.n > 0 ? p[0] : 0.0F, some.n > 1 ? p[1] : 0.0F}};
  }
  static void store(float* p, Floats a, All) noexcept { store(p, a, Some{2}); }
  static void store(float* p, Floats a, Some some) noexcept {
    for (std::int64_t i = 0; i < some.n; ++i) p[i] = a.lane[i];
  }
  template <class Count>
  static Floats load_twice(const float* p, Count) noexcept {
    return all(*p);
  }

  static Floats load_f16(const std::uint16_t* p, All) noexcept { return {{from_f16(p[0]), from_f16(p[1])}}; }
  static Floats load_f16(const std::uint16_t* p, Some some) noexcept {
    return {{some.n > 0 ? from_f16(p[0]) : 0.0F, some.n > 1 ? from_f16(p[1]) : 0.0F}};
  }
  static void store_f16(std::uint16_t* p, Floats a, All) noexcept { store_f16(p, a, Some{2}); }
  static void store_f16(std::uint16_t* p, Floats a, Some some) noexcept {
    for (std::int64_t i = 0; i < some.n; ++i) p[i] = to_f16(a.lane[i]);
  }

  static Floats load_bf16(const std::uint16_t* p, All) noexcept { return {{from_bf16(p[0]), from_bf16(p[1])}}; }
  static Floats load_bf16(const std::uint16_t* p, Some some) noexcept {
    return {{some.n > 0 ? from_bf16(p[0]) : 0.0F, some.n > 1 ? from_bf16(p[1]) : 0.0F}};
  }
  static void store_bf16(std::uint16_t* p, Floats a, All) noexcept { store_bf16(p, a, Some{2}); }
  static void store_bf16(std::uint16_t* p, Floats a, Some some) noexcept {
    for (std::int64_t i = 0; i < some.n; ++i) p[i] = to_bf16(a.lane[i]);
  }
  static void load_bf16(const std::uint16_t* p, Floats& even, Floats& odd, All) noexcept {
    load_bf16(p, even, odd, Some{4});
  }
  static void load_bf16(const std::uint16_t* p, Floats& even, Floats& odd, Some some) noexcept {
    even = odd = all(0.0F);
    for (std::int64_t i = 0; i < some.n; ++i) (i % 2 == 0 ? even : odd).lane[i / 2] = from_bf16(p[i]);
  }
  static void store_bf16(std::uint16_t* p, Floats even, Floats odd, All) noexcept { store_bf16(p, even, odd, Some{4}); }
  static void store_bf16(std::uint16_t* p, Floats even, Floats odd, Some some) noexcept {
    for (std::int64_t i = 0; i < some.n; ++i) p[i] = to_bf16((i % 2 == 0 ? even : odd).lane[i / 2]);
  }

  static Floats keep(Floats a) noexcept { return a; }
  static Floats bf16_nan(Floats a) noexcept { return a; }
  [[gnu::always_inline]] static void fetch(const void*) noexcept {}
  [[gnu::always_inline]] static void fetch_for_later(const void*) noexcept {}

 private:
  static float power_of_two(float shifted) noexcept { return from_bits((bits(shifted) << 23U) + bits(1.0F)); }
  static float fused(float a, float b, float c) noexcept {
    return static_cast<float>(static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c));
  }
  static std::uint32_t bits(float a) noexcept { return __builtin_bit_cast(std::uint32_t, a); }
  static float from_bits(std::uint32_t a) noexcept { return __builtin_bit_cast(float, a); }

  static constexpr std::uint32_t kQuiet = 0x400000;
  static constexpr std::uint32_t kInfinity = 0x7F800000;

  static float from_bf16(std::uint16_t a) noexcept { return from_bits(std::uint32_t{a} << 16U); }
  // A NaN stays one and becomes quiet.
  static std::uint16_t to_bf16(float a) noexcept {
    const std::uint32_t x = bits(a);
    const bool is_nan = (x & 0x7FFFFFFFU) > kInfinity;
    return static_cast<std::uint16_t>((is_nan ? x | kQuiet : x + 0x7FFFU + ((x >> 16U) & 1U)) >> 16U);
  }

  // binary16: 5 bits of exponent with bias 15, where binary32 has 127; 10 of mantissa, where it has 23.
  static constexpr std::uint32_t kBias = (127U - 15U) << 23U;
  static float from_f16(std::uint16_t a) noexcept {
    const std::uint32_t sign = (a & 0x8000U) << 16U;
    const std::uint32_t rest = a & 0x7FFFU;
    if (rest > 0x7C00U) return from_bits(sign | kInfinity | kQuiet | (rest & 0x3FFU) << 13U);
    if (rest == 0x7C00U) return from_bits(sign | kInfinity);
    if (rest >= 0x400U) return from_bits(sign | ((rest << 13U) + kBias));
    return from_bits(sign | bits(static_cast<float>(rest) * 0x1p-24F));
  }
  static std::uint16_t to_f16(float a) noexcept {
    const std::uint32_t sign = (bits(a) >> 16U) & 0x8000U;
    const std::uint32_t rest = bits(a) & 0x7FFFFFFFU;
    std::uint32_t out = 0x7C00U;  // from 65520 on
    if (rest > kInfinity) {
      out = 0x7E00U | ((rest >> 13U) & 0x3FFU);
    } else if (rest < 0x38800000U) {  // 2^-14: beside 1/2, a float's spacing is 2^-24, that of binary16 here
      out = bits(from_bits(rest) + 0.5F) - bits(0.5F);
    } else if (rest < 0x477FF000U) {
      out = (rest + 0xFFFU + ((rest >> 13U) & 1U) - kBias) >> 13U;
    }
    return static_cast<std::uint16_t>(sign | out);
  }
};

}  // namespace
