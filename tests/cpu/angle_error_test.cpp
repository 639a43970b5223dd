#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "posenc/wavelength.h"
#include "support/ropes.h"
#include "support/throws.h"

namespace posenc::test::angle_error_test {
namespace {

// Against the definition, by tables of one position each.
TEST(AngleError, IsTheLargestDifference) {
  const Rope rope = plain_rope(64, 1e4, YarnScaling{40.0, 4096});
  const AngleError found = angle_error(rope, Angles::bfloat16, 163'840, 40);
  AngleError expected;
  for (std::int64_t t = 163'800; t < 163'840; ++t) {
    const RotaryTable exact = make_table(rope, range(t, 1));
    const RotaryTable rounded = make_table(rope, range(t, 1, Angles::bfloat16));
    for (std::int64_t p = 0; p < 32; ++p) {
      const auto at = static_cast<std::size_t>(p);
      const double difference = std::max(std::abs(double{exact.cos(t)[at]} - double{rounded.cos(t)[at]}),
                                         std::abs(double{exact.sin(t)[at]} - double{rounded.sin(t)[at]}));
      if (difference > expected.largest) expected = {difference, t, p};
    }
  }
  EXPECT_EQ(found.largest, expected.largest);
  EXPECT_EQ(found.position, expected.position);
  EXPECT_EQ(found.pair, expected.pair);
}

TEST(AngleError, ExactHasNone) {
  const AngleError found = angle_error(plain_rope(64), Angles::exact, 1'000'000);
  EXPECT_EQ(found.largest, 0.0);
  EXPECT_EQ(found.position, 1'000'000 - 64);
}

TEST(AngleError, GrowsWithPosition) {
  const Rope rope = plain_rope(128);
  const double near = angle_error(rope, Angles::float32, 4096).largest;
  const double far = angle_error(rope, Angles::float32, 131'072).largest;
  // Half an ulp of an angle of 2^12 is 2^-13, of one of 2^17 it is 2^-8; the frequency adds as much.
  EXPECT_LE(near, 0x1p-11);
  EXPECT_GE(near, 0x1p-15);
  EXPECT_LE(far, 0x1p-6);
  EXPECT_GE(far, 0x1p-10);
}

TEST(AngleError, StartsAtZeroWhereThereIsLess) {
  EXPECT_EQ(angle_error(plain_rope(64), Angles::exact, 10).position, 0);
  EXPECT_ERROR((void)angle_error(plain_rope(64), Angles::exact, 0), "[angle_error] end must be at least 1 but is 0");
  EXPECT_ERROR((void)angle_error(plain_rope(64), Angles::exact, 5, 0),
               "[angle_error] count must be at least 1 but is 0");
}

TEST(AngleError, TakesTheLength) {
  const Rope rope = plain_rope(64, 1e4, DynamicScaling{2.0, 4096});
  EXPECT_NE(angle_error(rope, Angles::float32, 16384, 64, 16384).largest,
            angle_error(rope, Angles::float32, 16384).largest);
}

}  // namespace
}  // namespace posenc::test::angle_error_test
