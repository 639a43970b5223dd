// Rounding to each dtype at every value it has, and numbers that are none.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "posenc/rotate.h"
#include "rotate/expect_rotated.h"
#include "rotate/heads.h"
#include "support/every_isa.h"

namespace posenc::test::values_test {
namespace {

constexpr std::int64_t kPairs = 512;

// A magnitude in the format with that many bits of mantissa, as a double.
double value_of(DType dtype, std::uint32_t bits) {
  const auto narrow = static_cast<std::uint16_t>(bits);
  return reference::read({&narrow, dtype, 1, {1}, {1}}, 0);
}

// What lies halfway between two numbers of a format rounds to the even one, what lies beside it to the nearer one.
// x = 1 rotated by the given c = float, s = 0 is that float, rounded.
struct Rounded {
  float value;
  std::uint32_t expected;
};
Rounded nth_case(DType dtype, std::uint32_t magnitude, int which) {
  const std::uint32_t infinity = dtype == DType::f16 ? 0x7C00U : 0x7F80U;
  if (magnitude >= infinity) return {0.0F, 0U};
  const double here = value_of(dtype, magnitude);
  // The number after the largest is where infinity begins: one step on.
  const double step =
      magnitude + 1 == infinity ? here - value_of(dtype, magnitude - 1) : value_of(dtype, magnitude + 1) - here;
  const auto half = static_cast<float>(here + step / 2);  // exact: binary32 has the digits
  switch (which) {
    case 0: return {static_cast<float>(here), magnitude};
    case 1: return {half, magnitude + magnitude % 2};
    case 2: return {std::nextafter(half, std::numeric_limits<float>::infinity()), magnitude + 1};
    default: return {std::nextafter(half, 0.0F), magnitude};
  }
}

void expect_rounding(std::int64_t pairs) {
  const std::int64_t rows = 0x8000 / pairs;
  Suite suite("rounding, pairs " + std::to_string(pairs));
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const std::uint32_t one = dtype == DType::f16 ? 0x3C00U : 0x3F80U;
    for (int which = 0; which < 4; ++which) {
      std::vector<float> cos;
      for (std::uint32_t m = 0; m < 0x8000; ++m) cos.push_back(nth_case(dtype, m, which).value);
      const std::vector<float> sin(cos.size(), 0.0F);
      for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
        const RotaryLayout layout{.pairing = pairing, .head_dim = 2 * pairs, .dim = 2 * pairs};
        const RotaryTable table = table_from_cos_sin(layout, cos, sin);
        for (const Isa isa : supported_isas()) {
          std::vector<std::uint16_t> x(static_cast<std::size_t>(rows * 2 * pairs));
          for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = static_cast<std::uint16_t>(i % 3 == 0 ? one | 0x8000U : one);
          const std::vector<std::uint16_t> before = x;
          (void)rotate(
              {.q = tensor(static_cast<void*>(x.data()), dtype, {rows, 1, 2 * pairs}), .table = &table, .isa = isa});
          suite.ran(isa);
          std::int64_t wrong = 0;
          for (std::int64_t row = 0; row < rows; ++row) {
            for (std::int64_t p = 0; p < pairs; ++p) {
              const auto [a, b] = math::channels_of_pair(pairing, 0, 2 * pairs, p);
              const auto m = static_cast<std::uint32_t>(row * pairs + p);
              for (const std::int64_t channel : {a, b}) {
                const auto i = static_cast<std::size_t>(row * 2 * pairs + channel);
                const std::uint32_t expected = nth_case(dtype, m, which).expected;
                // A zero's sign is that of a sum of zeros.
                const bool right = expected == 0 ? (x[i] & 0x7FFFU) == 0 : x[i] == (expected | (before[i] & 0x8000U));
                wrong += right ? 0 : 1;
                if (!right && wrong == 1) {
                  ADD_FAILURE() << posenc::name(dtype) << " " << name(isa) << ": " << nth_case(dtype, m, which).value
                                << " became " << std::hex << x[i] << ", not " << expected;
                }
              }
            }
          }
          EXPECT_EQ(wrong, 0);
        }
      }
    }
  }
  suite.expect_ran();
}

TEST(RotateValues, RoundToNearestTiesToEvenAtEveryNumberOfTheFormat) { expect_rounding(kPairs); }
// Fewer than any register of AVX2 or AVX-512 holds.
TEST(RotateValues, RoundToNearestTiesToEvenBesideEmptyLanes) { expect_rounding(4); }

// Position 0 gives back every number as it was, subnormal ones too; a NaN stays one, an infinity spoils its partner.
TEST(RotateValues, StayWhatTheyAreAtPositionZero) {
  Suite suite("position 0");
  const Rope rope{.pairing = Pairing::half, .head_dim = 2 * kPairs, .dim = 2 * kPairs};
  const RotaryTable table = make_table(rope, {.count = 1});
  const std::vector<std::int64_t> zeros(0x10000 / kPairs, 0);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const Isa isa : supported_isas()) {
      std::vector<std::uint16_t> x(std::size_t{2} * 0x10000);  // every number beside a 0
      for (std::uint32_t m = 0; m < 0x10000; ++m) {
        x[static_cast<std::size_t>(m / kPairs * 2 * kPairs + m % kPairs)] = static_cast<std::uint16_t>(m);
      }
      (void)rotate({.q = tensor(static_cast<void*>(x.data()), dtype, {0x10000 / kPairs, 1, 2 * kPairs}),
                    .positions = zeros,
                    .table = &table,
                    .isa = isa});
      suite.ran(isa);
      for (std::uint32_t m = 0; m < 0x10000; ++m) {
        const std::uint16_t now = x[static_cast<std::size_t>(m / kPairs * 2 * kPairs + m % kPairs)];
        if (std::isnan(value_of(dtype, m))) {
          ASSERT_TRUE(std::isnan(value_of(dtype, now))) << name(isa) << " " << std::hex << m;
        } else if ((m & 0x7FFFU) == 0) {
          ASSERT_EQ(now & 0x7FFFU, 0U);
        } else {
          ASSERT_EQ(now, m) << name(isa);
        }
      }
    }
  }
  suite.expect_ran();
}

TEST(RotateValues, ThatAreNotFiniteReachTheirPairAndNoFurther) {
  Suite suite("not finite");
  for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
    const RotaryLayout layout{.pairing = pairing, .head_dim = 80, .dim = 80};
    const RotaryTable table = make_table(Rope{.pairing = pairing, .head_dim = 80, .dim = 80}, {.count = 10});
    for (const DType dtype : kDTypes) {
      const std::uint32_t infinity = dtype == DType::f32 ? 0x7F800000U : dtype == DType::f16 ? 0x7C00U : 0x7F80U;
      for (const std::uint32_t bits : {infinity, infinity | 1U}) {
        for (const Isa isa : supported_isas()) {
          std::mt19937_64 random(5);
          Heads x(laid_out(Layout::thd, dtype, {1, 2, 2, 80}), random);
          const std::vector<std::byte> before = x.memory();
          (void)rotate({.q = x.view(), .positions = PositionRange{4}, .table = &table, .isa = isa});
          const std::vector<std::uint32_t> clean = bits_of(x.view());
          for (const std::int64_t channel : {0, 17, 40, 79}) {
            x.restore(before);
            set_bits(x.view(), 80 + channel, bits);
            (void)rotate({.q = x.view(), .positions = PositionRange{4}, .table = &table, .isa = isa});
            const std::int64_t partner = partners(layout)[static_cast<std::size_t>(channel)];
            for_elements(x.view(), [&](std::int64_t offset, std::size_t i) {
              if (offset == 80 + channel || offset == 80 + partner) {
                EXPECT_FALSE(std::isfinite(reference::read(x.view(), offset)));
              } else {
                EXPECT_EQ(bits_at(x.view(), offset), clean[i]) << name(isa) << " channel " << channel;
              }
            });
          }
          suite.ran(isa);
        }
      }
    }
  }
  suite.expect_ran();
}

// An f16 result beyond 65504 becomes infinite, as IEEE 754 has it.
TEST(RotateValues, BecomeInfiniteWhereTheFormatEnds) {
  const RotaryLayout layout{.pairing = Pairing::half, .head_dim = 2, .dim = 2};
  const std::vector<float> cos{2.0F};
  const std::vector<float> sin{0.0F};
  const RotaryTable table = table_from_cos_sin(layout, cos, sin, 0, 2.0);
  for (const Isa isa : every_isa("beyond the format")) {
    std::vector<std::uint16_t> x{0x7800, 0xF7FF};  // 32768, and -32752
    (void)rotate({.q = tensor(static_cast<void*>(x.data()), DType::f16, {1, 1, 2}), .table = &table, .isa = isa});
    EXPECT_EQ(x, (std::vector<std::uint16_t>{0x7C00, 0xFBFF})) << name(isa);
  }
}

// Given cos and sin are taken as they are: the product and the sum alone are rounded.
TEST(RotateValues, OfAGivenTableAreTakenAsTheyAre) {
  Suite suite("given tables");
  std::mt19937_64 random(11);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  const RotaryLayout layout{.pairing = Pairing::interleaved, .head_dim = 40, .dim = 38};
  std::vector<float> cos(19 * 6);
  std::vector<float> sin(19 * 6);
  for (float& x : cos) x = uniform(random);
  for (float& x : sin) x = uniform(random);
  const RotaryTable table = table_from_cos_sin(layout, cos, sin, 100);
  for (const DType dtype : kDTypes) {
    Heads x(laid_out(Layout::thd, dtype, {1, 6, 2, 40}), random);
    const std::vector<std::byte> before = x.memory();
    std::vector<double> expected = values_of(x.view());
    for (std::size_t head = 0; head < 12; ++head) {
      for (std::size_t p = 0; p < 19; ++p) {
        const auto [a, b] = math::channels_of_pair(layout.pairing, 0, 38, static_cast<std::int64_t>(p));
        double& first = expected[head * 40 + static_cast<std::size_t>(a)];
        double& second = expected[head * 40 + static_cast<std::size_t>(b)];
        const auto rotated = math::rotated<double>({first, second}, static_cast<double>(cos[head / 2 * 19 + p]),
                                                   static_cast<double>(sin[head / 2 * 19 + p]));
        first = rotated.a;
        second = rotated.b;
      }
    }
    for (const Isa isa : supported_isas()) {
      (void)rotate({.q = x.view(), .positions = PositionRange{100}, .table = &table, .isa = isa});
      suite.ran(isa);
      expect_rotated(x, before, expected, layout, {1.0, 0.0}, suite, std::string(name(isa)));
      x.restore(before);
    }
  }
  suite.expect();
}

}  // namespace
}  // namespace posenc::test::values_test
