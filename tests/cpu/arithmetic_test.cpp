// Angles::float32 and Angles::bfloat16: the arithmetic that checkpoints were trained with.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <string>

#include "cpu/angles/angle_rows.h"
#include "posenc/rotary_table.h"
#include "support/every_isa.h"
#include "support/ropes.h"
#include "support/tolerances.h"
#include "support/ulp.h"

namespace posenc::test::arithmetic_test {
namespace {

RotaryTable table(const Frequencies& f, std::int64_t start, std::int64_t count, Angles angles, Isa isa) {
  TableOptions options = range(start, count, angles);
  options.isa = isa;
  return make_table(layout(plain_rope(2 * std::ssize(f.inv_freq))), f, options);
}

// f32 product, and the f32 nearest to its cos and sin, but for libm's last bit in double.
TEST(Float32, EqualsAPlainModel) {
  const Frequencies f = frequencies(plain_rope(128, 5e5));
  for (const Isa isa : every_isa("float32 angles")) {
    double worst = 0.0;
    for (const std::int64_t start : {-50L, 131'000L, 1L << 24U, 1L << 31U}) {
      const RotaryTable made = table(f, start, 100, Angles::float32, isa);
      for (std::int64_t t = start; t < start + 100; ++t) {
        for (std::size_t p = 0; p < 64; ++p) {
          const double angle = static_cast<float>(t) * static_cast<float>(f.inv_freq[p]);
          const auto c = static_cast<float>(std::cos(angle));
          const auto s = static_cast<float>(std::sin(angle));
          worst = std::max(worst, std::abs(static_cast<double>(made.cos(t)[p] - c)) / float_ulp(c));
          worst = std::max(worst, std::abs(static_cast<double>(made.sin(t)[p] - s)) / float_ulp(s));
        }
      }
    }
    std::printf("%-7s float32 against libm: worst %.3g ulp, bound %.3g\n", std::string(name(isa)).c_str(), worst,
                kFloat32ModelUlp);
    EXPECT_LE(worst, kFloat32ModelUlp);
  }
}

// The caller's frequencies are rounded to float first.
TEST(Float32, RoundsTheFrequencies) {
  Frequencies precise{{1.0 / 3.0, 1e-3}};
  Frequencies rounded{{static_cast<double>(static_cast<float>(1.0 / 3.0)), static_cast<double>(1e-3F)}};
  const auto rows = [](const Frequencies& f, Angles angles) {
    const RotaryTable made = table(f, 100'000, 3, angles, Isa::automatic);
    return std::vector<float>(made.rows().begin(), made.rows().end());
  };
  EXPECT_EQ(rows(precise, Angles::float32), rows(rounded, Angles::float32));
  EXPECT_NE(rows(precise, Angles::exact), rows(rounded, Angles::exact));
}

// From a scheme, frequencies come from float arithmetic too.
TEST(Float32, TakesTheSchemesFloatFrequencies) {
  const Rope rope = plain_rope(96, 5e5, Llama3Scaling{8.0, 1.0, 4.0, 8192});
  const TableOptions options = range(70'000, 16, Angles::float32);
  const Frequencies f = frequencies(rope, {}, Arithmetic::float32);
  const RotaryTable from_scheme = make_table(rope, options);
  const RotaryTable from_frequencies = make_table(layout(rope), f, options);
  EXPECT_TRUE(std::ranges::equal(from_scheme.rows(), from_frequencies.rows()));
}

// The factor is multiplied in after the rounding to float, not before.
TEST(Float32, MultipliesTheFactorLast) {
  Frequencies f = frequencies(plain_rope(128));
  const RotaryTable without = table(f, 0, 500, Angles::float32, Isa::automatic);
  f.attention_factor = 1.3689;
  const RotaryTable with = table(f, 0, 500, Angles::float32, Isa::automatic);
  for (std::size_t i = 0; i < with.rows().size(); ++i) ASSERT_EQ(with.rows()[i], without.rows()[i] * 1.3689F);
}

// The nearest of the two neighbours in bfloat16, the even one where both are equally near: every float whose lower half
// is one of the cases, of either sign.
TEST(Bfloat16, RoundsToNearestEven) {
  const auto value = [](std::uint32_t bits) { return static_cast<double>(std::bit_cast<float>(bits)); };
  for (std::uint32_t upper = 0; upper < 0x10000U; ++upper) {
    const std::uint32_t down = upper << 16U;
    const std::uint32_t up = down + 0x10000U;
    if ((upper & 0x7F80U) == 0x7F80U || (up & 0x7F800000U) == 0x7F800000U) continue;  // infinities and NaN
    for (const std::uint32_t lower : {0U, 1U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU, upper % 0x10000U}) {
      const float x = std::bit_cast<float>(down | lower);
      const double below = std::abs(static_cast<double>(x) - value(down));
      const double above = std::abs(value(up) - static_cast<double>(x));
      const bool takes_down = below < above || (below == above && upper % 2 == 0);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(cpu::to_bfloat16(x)), takes_down ? down : up) << upper << ' ' << lower;
    }
  }
}

TEST(Bfloat16, IsTheFloat32TableRounded) {
  Frequencies f = frequencies(plain_rope(80, 1e6));
  f.attention_factor = 1.19;
  for (const Isa isa : every_isa("bfloat16 angles")) {
    const RotaryTable full = table(f, 4000, 300, Angles::float32, isa);
    const RotaryTable rounded = table(f, 4000, 300, Angles::bfloat16, isa);
    for (std::size_t i = 0; i < full.rows().size(); ++i) ASSERT_EQ(rounded.rows()[i], cpu::to_bfloat16(full.rows()[i]));
  }
}

// What the ends differ by: DESIGN's 1e-2 below position 131072 (float32), 2^-9 more for bfloat16.
TEST(Arithmetics, DifferAsExpected) {
  const Frequencies f = frequencies(plain_rope(128));
  const RotaryTable exact = table(f, 131'000, 72, Angles::exact, Isa::automatic);
  const RotaryTable rounded = table(f, 131'000, 72, Angles::float32, Isa::automatic);
  double largest = 0.0;
  for (std::size_t i = 0; i < exact.rows().size(); ++i) {
    largest = std::max(largest, static_cast<double>(std::abs(exact.rows()[i] - rounded.rows()[i])));
  }
  // The f32 product of an angle near 2^17 is off by up to 2^-8 = 3.9e-3, the f32 frequency by as much again.
  EXPECT_LE(largest, 0x1p-7);
  EXPECT_GE(largest, 0x1p-10);
}

}  // namespace
}  // namespace posenc::test::arithmetic_test
