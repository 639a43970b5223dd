// How the rotation kernels read and round their elements, on every instruction set that this machine has. Rotated by
// cos 1 and sin 0 an element is converted to a float and back; by cos alone, a product is rounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "cpu/machine/machine.h"
#include "kernels/kernels.h"
#include "posenc/info.h"

namespace posenc::test::conversions_test {
namespace {

using kernels::Element;

constexpr std::uint32_t kPatterns = 1U << 16U;

struct Format {
  Element element;
  const char* name;
  std::uint32_t exponent_bits;
  std::uint32_t mantissa_bits;

  std::uint32_t infinity() const { return ((1U << exponent_bits) - 1U) << mantissa_bits; }
  std::uint32_t quiet() const { return 1U << (mantissa_bits - 1U); }
  bool is_nan(std::uint32_t x) const { return (x & 0x7FFFU) > infinity(); }

  // By definition: sign, exponent with its bias, mantissa.
  double value(std::uint32_t x) const {
    const int bias = (1 << (exponent_bits - 1U)) - 1;
    const auto exponent = static_cast<int>((x & 0x7FFFU) >> mantissa_bits);
    const auto mantissa = static_cast<int>(x & ((1U << mantissa_bits) - 1U));
    const int whole = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
    const double magnitude = std::ldexp(whole, std::max(exponent, 1) - bias - static_cast<int>(mantissa_bits));
    return x >= 0x8000U ? -magnitude : magnitude;
  }

  // The nearest pattern to a finite double, ties to the even one, found by bisection among the values: no arithmetic
  // on bits that a kernel may share. What lies halfway beyond the largest is infinite.
  std::uint32_t nearest(double x) const {
    const double magnitude = std::abs(x);
    std::uint32_t below = 0;
    std::uint32_t above = infinity();  // value() continues past the largest, so a tie with infinity is one of values
    while (above - below > 1) {
      const std::uint32_t middle = (below + above) / 2;
      (value(middle) <= magnitude ? below : above) = middle;
    }
    const double middle = value(below) + (value(above) - value(below)) / 2;
    const bool up = magnitude > middle || (magnitude == middle && below % 2 == 1);
    return (up ? above : below) | (std::signbit(x) ? 0x8000U : 0U);
  }
};

constexpr Format kFormats[] = {{Element::f16, "f16", 5, 10}, {Element::bf16, "bf16", 8, 7}};

// Rotates every element of one row, a head of `pairs` pairs after another, by the same cos and sin.
std::vector<std::uint16_t> rotated(const kernels::KernelTable& table, Element element, bool half, std::int64_t pairs,
                                   float cos, float sin, const std::vector<std::uint16_t>& x) {
  std::vector<float> angles(static_cast<std::size_t>(2 * pairs), cos);
  std::fill(angles.begin() + pairs, angles.end(), sin);
  const float* const row = angles.data();
  std::vector<std::uint16_t> out(x.size(), 0xBEEF);
  table.rotate({.element = element,
                .rows = 1,
                .heads = std::ssize(x) / (2 * pairs),
                .pairs = pairs,
                .partner = half ? pairs : 0,
                .cos = &row,
                .sin_offset = pairs,
                .from = x.data(),
                .from_head = 2 * pairs,
                .to = out.data(),
                .to_head = 2 * pairs});
  return out;
}

std::vector<std::uint16_t> all_patterns() {
  std::vector<std::uint16_t> out(kPatterns);
  for (std::uint32_t i = 0; i < kPatterns; ++i) out[i] = static_cast<std::uint16_t>(i);
  return out;
}

// Whole vectors on every instruction set, and tails: 2^16 is a multiple of neither 14 nor 6, so zeros fill it up.
constexpr std::int64_t kPairs[] = {64, 7, 3};

class Conversions : public ::testing::TestWithParam<cpu::IsaKernels> {};

TEST_P(Conversions, EveryPatternComesBackFromAFloat) {
  for (const Format& format : kFormats) {
    for (const bool half : {true, false}) {
      for (const std::int64_t pairs : kPairs) {
        std::vector<std::uint16_t> x = all_patterns();
        // In pairs with 0: an infinite or NaN partner would make 0 * partner a NaN.
        std::vector<std::uint16_t> in;
        for (const bool second : {false, true}) {
          in.clear();
          for (std::size_t i = 0; i < x.size(); i += static_cast<std::size_t>(pairs)) {
            for (int part = 0; part < 2; ++part) {
              for (std::size_t p = 0; p < static_cast<std::size_t>(pairs); ++p) {
                const std::size_t lane = static_cast<std::size_t>(part) * static_cast<std::size_t>(pairs) + p;
                const bool is_second = half ? part == 1 : lane % 2 == 1;
                const std::size_t index = i + (half ? p : lane / 2);
                in.push_back(is_second == second && index < x.size() ? x[index] : std::uint16_t{0});
              }
            }
          }
          const std::vector<std::uint16_t> out = rotated(GetParam().table, format.element, half, pairs, 1.0F, 0.0F, in);
          for (std::size_t i = 0; i < in.size(); ++i) {
            const std::uint32_t expected = format.is_nan(in[i]) ? in[i] | format.quiet() : in[i];
            // The partner's product with sin 0 is a 0 that decides the sign of 0 - 0; a NaN makes its partner one.
            if ((expected & 0x7FFFU) == 0) {
              if (format.is_nan(out[i]) || (out[i] & 0x7FFFU) == format.infinity()) continue;
              ASSERT_EQ(out[i] & 0x7FFFU, 0U) << format.name << " of " << in[i];
            } else {
              ASSERT_EQ(out[i], expected) << format.name << " pairs " << pairs << " half " << half << " of " << in[i];
            }
          }
        }
      }
    }
  }
}

// Products with factors that make ties, denormals, infinities and arbitrary bits. A product of a format's element and
// a float is exact in double; the kernel's own rounding to a float comes first.
TEST_P(Conversions, RoundsToNearestTiesToEven) {
  constexpr float kFactors[] = {1.5F,       1.25F,   0.75F,      1.001953125F, 0.998046875F, 0x1.01p0F, 0x1.02p0F,
                                0.7853982F, 0x1p-4F, 0x1.8p-20F, 0x1p-14F,     0x1.004p3F,   -0x1.8p1F, 0x1.fffffep0F};
  std::int64_t ties = 0;
  std::int64_t denormals = 0;
  for (const Format& format : kFormats) {
    for (std::size_t f = 0; f < std::size(kFactors); ++f) {
      const float factor = kFactors[f];
      const bool half = f % 2 == 0;
      std::vector<std::uint16_t> in;
      for (const std::uint16_t x : all_patterns()) {
        if ((x & 0x7FFFU) < format.infinity()) in.push_back(x);
      }
      while (in.size() % 128 != 0) in.push_back(0);
      const std::vector<std::uint16_t> out = rotated(GetParam().table, format.element, half, 64, factor, 0.0F, in);
      for (std::size_t i = 0; i < in.size(); ++i) {
        const double exact = format.value(in[i]) * static_cast<double>(factor);
        const auto product = static_cast<float>(exact);
        const std::uint32_t expected =
            std::isinf(product) ? format.infinity() | (product < 0 ? 0x8000U : 0U) : format.nearest(product);
        if (std::isfinite(product)) {
          const std::uint32_t magnitude = expected & 0x7FFFU;
          const double other = format.value(magnitude + (std::abs(product) > format.value(magnitude) ? 1U : -1U));
          if (magnitude > 0 && std::abs(product) - format.value(magnitude) == other - std::abs(product)) ++ties;
          if (magnitude > 0 && magnitude < 1U << format.mantissa_bits) ++denormals;
        }
        if ((expected & 0x7FFFU) == 0) {
          ASSERT_EQ(out[i] & 0x7FFFU, 0U) << format.name << " of " << in[i] << " times " << factor;
        } else {
          ASSERT_EQ(out[i], expected) << format.name << " of " << in[i] << " times " << factor;
        }
      }
    }
  }
  EXPECT_GT(ties, 10000);
  EXPECT_GT(denormals, 1000);
}

// A NaN of a table, whatever its lower bits, makes NaNs of a pair, and infinities stay or make NaNs.
TEST_P(Conversions, NaNsAndInfinities) {
  for (const Format& format : kFormats) {
    for (const bool half : {true, false}) {
      const auto infinity = static_cast<std::uint16_t>(format.infinity());
      for (const std::uint32_t bits : {0x7F800001U, 0x7FFFFFFFU, 0xFFFFFFFFU, 0xFF80FFFFU, 0x7FC00000U}) {
        const auto nan = std::bit_cast<float>(bits);
        const std::vector<std::uint16_t> ones(128, static_cast<std::uint16_t>(format.nearest(1.0)));
        for (const std::uint16_t x : rotated(GetParam().table, format.element, half, 64, nan, 1.0F, ones)) {
          ASSERT_TRUE(format.is_nan(x)) << format.name << " " << std::hex << x << " of cos " << bits;
        }
        for (const std::uint16_t x : rotated(GetParam().table, format.element, half, 64, 1.0F, nan, ones)) {
          ASSERT_TRUE(format.is_nan(x)) << format.name << " " << std::hex << x << " of sin " << bits;
        }
      }
      std::vector<std::uint16_t> x(128, infinity);
      for (const std::uint16_t y : rotated(GetParam().table, format.element, half, 64, 0.0F, 0.0F, x)) {
        ASSERT_TRUE(format.is_nan(y)) << format.name;
      }
      const std::vector<std::uint16_t> y = rotated(GetParam().table, format.element, half, 64, 1.0F, 0.5F, x);
      ASSERT_TRUE(format.is_nan(y[0])) << format.name;                // inf - inf
      ASSERT_EQ(y[half ? 64 : 1], format.infinity()) << format.name;  // inf + inf
    }
  }
}

// The same bits from every instruction set with fused multiply-add, on numbers of all sizes in both halves of a pair.
TEST(ConversionsTogether, SameBitsFromEveryVectorIsa) {
  const std::vector<cpu::IsaKernels> isas = cpu::runnable_kernels();
  if (isas.size() < 3) GTEST_SKIP() << "one vector instruction set at most";
  for (const Format& format : kFormats) {
    for (const bool half : {true, false}) {
      for (const std::int64_t pairs : {64, 40, 37, 5, 1}) {
        std::vector<std::uint16_t> x;
        std::uint32_t state = 12345;
        while (std::ssize(x) < 2 * pairs * 500) {
          state = state * 1664525U + 1013904223U;
          const auto bits = static_cast<std::uint16_t>(state >> 16U);
          if ((bits & 0x7FFFU) < format.infinity()) x.push_back(bits);
        }
        const std::vector<std::uint16_t> first = rotated(isas[1].table, format.element, half, pairs, 0.8F, 0.6F, x);
        for (std::size_t i = 2; i < isas.size(); ++i) {
          EXPECT_EQ(rotated(isas[i].table, format.element, half, pairs, 0.8F, 0.6F, x), first)
              << format.name << " " << name(isas[i].isa) << " pairs " << pairs;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, Conversions, ::testing::ValuesIn(cpu::runnable_kernels()),
                         [](const auto& isa) { return std::string(name(isa.param.isa)); });

}  // namespace
}  // namespace posenc::test::conversions_test
