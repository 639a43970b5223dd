#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "posenc/rotary_table.h"
#include "support/every_isa.h"
#include "support/real.h"
#include "support/ropes.h"
#include "support/throws.h"
#include "support/tolerances.h"
#include "support/ulp.h"

namespace posenc::test::cos_sin_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using Positions = std::vector<std::int64_t>;

TableOptions options_of(Angles angles, Isa isa) {
  TableOptions out;
  out.angles = angles;
  out.isa = isa;
  return out;
}

void expect_row(const CosSin& found, std::size_t row, std::span<const float> cos, std::span<const float> sin) {
  const auto pairs = static_cast<std::size_t>(found.pairs);
  EXPECT_TRUE(std::ranges::equal(std::span(found.cos).subspan(row * pairs, pairs), cos)) << "row " << row;
  EXPECT_TRUE(std::ranges::equal(std::span(found.sin).subspan(row * pairs, pairs), sin)) << "row " << row;
}

// Qwen2-VL's shape: three axes over 16 pairs.
Rope three_axes() {
  Rope out = plain_rope(32, 1e6);
  out.axes = chunked_axes({"t", "h", "w"}, {4, 6, 6});
  return out;
}

TEST(CosSin, EqualsTableRowsBitForBit) {
  const Rope rope = plain_rope(96, 5e5, YarnScaling{4.0, 32768});
  const Positions positions{299, 0, 7, 7, 255, 256, 1, 298};
  const std::vector<std::int32_t> narrow(positions.begin(), positions.end());
  const std::vector<double> real(positions.begin(), positions.end());
  for (const Isa isa : every_isa("cos_sin and tables")) {
    for (const Angles angles : {Angles::exact, Angles::float32, Angles::bfloat16}) {
      TableOptions options = options_of(angles, isa);
      const CosSin found = cos_sin(rope, positions, options);
      EXPECT_EQ(found, cos_sin(rope, narrow, options));
      EXPECT_EQ(found, cos_sin(rope, real, options));
      options.count = 300;
      const RotaryTable table = make_table(rope, options);
      for (std::size_t t = 0; t < positions.size(); ++t) {
        expect_row(found, t, table.cos(positions[t]), table.sin(positions[t]));
      }
    }
  }
}

// More rows than one block, each the row that it is alone.
TEST(CosSin, RowsDoNotDependOnTheirNumber) {
  for (const Rope& rope : {plain_rope(40), three_axes()}) {
    const std::size_t axes = rope.axes.names.size();
    const std::size_t rows = 600;
    Positions positions;
    for (std::size_t i = 0; i < axes * rows; ++i)
      positions.push_back(static_cast<std::int64_t>(i * i % 100'003) - 4000);
    const CosSin all = cos_sin(rope, positions);
    for (const std::size_t t : {0U, 255U, 256U, 511U, 512U, 599U}) {
      Positions one;
      for (std::size_t a = 0; a < axes; ++a) one.push_back(positions[a * rows + t]);
      const CosSin alone = cos_sin(rope, one);
      expect_row(all, t, alone.cos, alone.sin);
    }
  }
}

TEST(CosSin, AxesAreLookupsOfTheirOwn) {
  const Rope rope = three_axes();
  Rope single = rope;
  single.axes = {};
  const Positions t{5, 5, 90000};
  const Positions h{0, 17, -3};
  const Positions w{1000, 2, 131071};
  Positions all = t;
  all.insert(all.end(), h.begin(), h.end());
  all.insert(all.end(), w.begin(), w.end());
  for (const Isa isa : every_isa("axes of cos_sin")) {
    for (const Angles angles : {Angles::exact, Angles::float32, Angles::bfloat16}) {
      const TableOptions options = options_of(angles, isa);
      const CosSin found = cos_sin(rope, all, options);
      const std::vector<CosSin> by_axis{cos_sin(single, t, options), cos_sin(single, h, options),
                                        cos_sin(single, w, options)};
      for (std::size_t row = 0; row < 3; ++row) {
        for (std::size_t p = 0; p < 16; ++p) {
          const CosSin& from = by_axis[static_cast<std::size_t>(rope.axes.of_pair[p])];
          EXPECT_EQ(found.cos[row * 16 + p], from.cos[row * 16 + p]);
          EXPECT_EQ(found.sin[row * 16 + p], from.sin[row * 16 + p]);
        }
      }
    }
  }
}

// One axis that is not the first, rotating every pair.
TEST(CosSin, OneAxisOfSeveral) {
  Rope rope = plain_rope(16);
  rope.axes = {{"x", "y"}, std::vector<std::int32_t>(8, 1)};
  const CosSin found = cos_sin(rope, Positions{100, 200, 3, 4});
  const CosSin expected = cos_sin(plain_rope(16), Positions{3, 4});
  EXPECT_EQ(found, expected);
}

TEST(CosSin, RealCoordinates) {
  Rope rope = plain_rope(32, 100.0);
  rope.axes = axial_axes({"y", "x"}, 16);
  rope.axis_frequencies = AxisFrequencies::per_axis;
  const std::vector<double> f = frequencies(rope).inv_freq;
  const std::vector<double> positions{0.5, -0.984375, 13.7, 1e6 + 0.1};  // [2 axes, 2]
  const CosSin found = cos_sin(rope, positions);
  AngleOracle oracle;
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t p = 0; p < 16; ++p) {
      oracle.evaluate(positions[static_cast<std::size_t>(rope.axes.of_pair[p]) * 2 + row], f[p]);
      EXPECT_LE(ulp_error(found.cos[row * 16 + p], oracle.cos), kAngleMethodUlp);
      EXPECT_LE(ulp_error(found.sin[row * 16 + p], oracle.sin), kAngleMethodUlp);
    }
  }
}

TEST(CosSin, IntoTheCallersMemory) {
  for (const Rope& rope : {plain_rope(24), three_axes()}) {
    const Positions positions{1, 2, 3, 40, 50, 60, 70, 80, 90};
    const std::vector<std::int32_t> narrow(positions.begin(), positions.end());
    const std::vector<double> real(positions.begin(), positions.end());
    const CosSin expected = cos_sin(rope, positions);
    CosSin found = expected;
    const auto refill = [&] {
      std::ranges::fill(found.cos, 9.0F);
      std::ranges::fill(found.sin, 9.0F);
    };
    refill();
    cos_sin_into(rope, positions, found.cos, found.sin);
    EXPECT_EQ(found, expected);
    refill();
    cos_sin_into(rope, narrow, found.cos, found.sin);
    EXPECT_EQ(found, expected);
    refill();
    cos_sin_into(rope, real, found.cos, found.sin);
    EXPECT_EQ(found, expected);
  }
}

// An error leaves the outputs untouched.
TEST(CosSin, IntoRefusesWrongSizes) {
  const Rope rope = plain_rope(8);
  const Positions positions{1, 2};
  std::vector<float> cos(8, 5.0F);
  std::vector<float> sin(8, 5.0F);
  EXPECT_ERROR(cos_sin_into(rope, positions, std::span(cos).first(7), sin),
               "[cos_sin_into] cos.size() must be 8 (2 rows of 4 pairs) but is 7");
  EXPECT_ERROR(cos_sin_into(rope, positions, cos, std::span(sin).first(4)),
               "[cos_sin_into] sin.size() must be 8 (2 rows of 4 pairs) but is 4");
  EXPECT_ERROR(cos_sin_into(rope, std::vector<double>{0.0, kNan}, cos, sin),
               "[cos_sin_into] positions must lie within -2^53 .. 2^53 but is nan");
  EXPECT_EQ(cos, std::vector<float>(8, 5.0F));
  EXPECT_EQ(sin, std::vector<float>(8, 5.0F));
}

TEST(CosSin, NoPositions) {
  const CosSin found = cos_sin(plain_rope(8), Positions{});
  EXPECT_EQ(found.pairs, 4);
  EXPECT_TRUE(found.cos.empty());
  EXPECT_TRUE(found.sin.empty());
}

TEST(CosSin, RefusesWrongPositions) {
  constexpr std::int64_t kLast = std::int64_t{1} << 53U;
  EXPECT_EQ(cos_sin(plain_rope(8), Positions{kLast, -kLast}).cos.size(), 8U);
  EXPECT_ERROR((void)cos_sin(plain_rope(8), Positions{0, kLast + 1}),
               "[cos_sin] positions must lie within -2^53 .. 2^53 but is 9007199254740993");
  EXPECT_ERROR((void)cos_sin(plain_rope(8), Positions{std::numeric_limits<std::int64_t>::min()}),
               "[cos_sin] positions must lie within -2^53 .. 2^53 but is -9223372036854775808");
  EXPECT_ERROR((void)cos_sin(plain_rope(8), std::vector<double>{kNan}),
               "[cos_sin] positions must lie within -2^53 .. 2^53 but is nan");
  EXPECT_ERROR((void)cos_sin(plain_rope(8), std::vector<double>{-std::numeric_limits<double>::infinity()}),
               "[cos_sin] positions must lie within -2^53 .. 2^53 but is -inf");
  const std::vector<std::int32_t> ends{std::numeric_limits<std::int32_t>::min(),
                                       std::numeric_limits<std::int32_t>::max()};
  EXPECT_EQ(cos_sin(plain_rope(8), ends).cos.size(), 8U);
  EXPECT_ERROR((void)cos_sin(three_axes(), Positions{1, 2, 3, 4}),
               "[cos_sin] positions.size() must be a multiple of 3 axes but is 4");
  EXPECT_ERROR((void)cos_sin(plain_rope(8, 10000.0, FactorListScaling{{0.125, 1.0, 1.0, 1.0}}), Positions{kLast}),
               "[cos_sin] position * inv_freq must be at most 2^53 radians but is 7.205759403792794e+16");
}

TEST(CosSin, RefusesTooMuch) {
  TableOptions options;
  options.max_bytes = 2 * 4 * 2 * 4 - 1;
  EXPECT_ERROR((void)cos_sin(plain_rope(8), Positions{1, 2}, options),
               "[cos_sin] positions must be at most 1 (max_bytes 63) but is 2");
}

TEST(CosSin, RefusesAWrongScheme) {
  EXPECT_THROW((void)cos_sin(plain_rope(7), Positions{1}), Error);
  TableOptions options;
  options.length = 0;
  EXPECT_THROW((void)cos_sin(plain_rope(8), Positions{1}, options), Error);
}

}  // namespace
}  // namespace posenc::test::cos_sin_test
