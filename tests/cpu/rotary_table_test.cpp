#include "posenc/rotary_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "support/every_isa.h"
#include "support/real.h"
#include "support/ropes.h"
#include "support/throws.h"
#include "support/tolerances.h"
#include "support/ulp.h"

namespace posenc::test::rotary_table_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(RotaryTable, HoldsWhatWasAskedFor) {
  const Rope rope = plain_rope(20);
  const RotaryTable table = make_table(rope, range(-3, 1000));
  EXPECT_EQ(table.layout(), layout(rope));
  EXPECT_EQ(table.start(), -3);
  EXPECT_EQ(table.count(), 1000);
  EXPECT_EQ(table.pairs(), 10);
  EXPECT_EQ(table.attention_factor(), 1.0);
  ASSERT_EQ(table.rows().size(), 1000U * 2 * 10);
  EXPECT_EQ(table.cos(-3).data(), table.rows().data());
  EXPECT_EQ(table.sin(-3).data(), table.rows().data() + 10);
  EXPECT_EQ(table.cos(996).data(), table.rows().data() + 999 * 20);
  EXPECT_EQ(table.cos(0)[4], 1.0F);
  EXPECT_EQ(table.sin(0)[4], 0.0F);
  EXPECT_ERROR((void)table.cos(997), "[RotaryTable] position must be at least -3 and below 997 but is 997");
  EXPECT_ERROR((void)table.sin(-4), "[RotaryTable] position must be at least -3 and below 997 but is -4");
  EXPECT_ERROR((void)table.sin(std::numeric_limits<std::int64_t>::min()),
               "[RotaryTable] position must be at least -3 and below 997 but is -9223372036854775808");
}

// Rows of 16 pairs and more are then read in whole registers, each of one line.
TEST(RotaryTable, BeginsALineOfTheCaches) {
  const auto is_line = [](const RotaryTable& table) {
    return reinterpret_cast<std::uintptr_t>(table.rows().data()) % 64 == 0;
  };
  for (const std::int64_t count : {1, 7, 1000}) {
    RotaryTable table = make_table(plain_rope(20), range(0, count));
    const RotaryTable copy = table;
    EXPECT_TRUE(is_line(table) && is_line(copy)) << count;
    EXPECT_NE(copy.rows().data(), table.rows().data());
    const float* const rows = table.rows().data();
    const RotaryTable moved = std::move(table);
    EXPECT_EQ(moved.rows().data(), rows);
    const std::vector<float> ones(static_cast<std::size_t>(10 * count), 1.0F);
    EXPECT_TRUE(is_line(table_from_cos_sin(copy.layout(), ones, ones)));
    const std::vector<double> angles(ones.begin(), ones.end());
    EXPECT_TRUE(is_line(table_from_angles(copy.layout(), angles)));
  }
}

TEST(RotaryTable, CosineTimesFactorOnEveryIsa) {
  const Rope rope = plain_rope(64, 1e4, YarnScaling{40.0, 4096});
  const Frequencies f = frequencies(rope);
  ASSERT_GT(f.attention_factor, 1.3);
  AngleOracle oracle;
  for (const Isa isa : every_isa("attention factors of tables")) {
    TableOptions options = range(160'000, 300);
    options.isa = isa;
    const RotaryTable table = make_table(rope, options);
    EXPECT_EQ(table.attention_factor(), f.attention_factor);
    for (std::int64_t t = 160'000; t < 160'300; ++t) {
      for (std::size_t p = 0; p < 32; ++p) {
        oracle.evaluate(static_cast<double>(t), f.inv_freq[p]);
        // The product in double is within 2^-53: nothing against an ulp of float.
        ASSERT_LE(ulp_error(table.cos(t)[p], {oracle.cos.hi * f.attention_factor, 0.0}), kAngleMethodUlp);
        ASSERT_LE(ulp_error(table.sin(t)[p], {oracle.sin.hi * f.attention_factor, 0.0}), kAngleMethodUlp);
      }
    }
  }
}

// A position has one row, whichever table holds it.
TEST(RotaryTable, RowsDoNotDependOnTheRange) {
  const Rope rope = plain_rope(80, 1e6);
  for (const Angles angles : {Angles::exact, Angles::float32, Angles::bfloat16}) {
    const RotaryTable all = make_table(rope, range(0, 1025, angles));
    for (const std::int64_t start : {0, 1, 255, 256, 257, 1024}) {
      const RotaryTable one = make_table(rope, range(start, 1, angles));
      EXPECT_TRUE(std::ranges::equal(one.cos(start), all.cos(start)));
      EXPECT_TRUE(std::ranges::equal(one.sin(start), all.sin(start)));
    }
  }
}

TEST(RotaryTable, TakesTheLength) {
  const Rope rope = plain_rope(64, 1e4, DynamicScaling{2.0, 4096});
  TableOptions options = range(8000, 4);
  const RotaryTable trained = make_table(rope, options);
  options.length = 16384;
  const RotaryTable stretched = make_table(rope, options);
  EXPECT_FALSE(std::ranges::equal(trained.rows(), stretched.rows()));
  const RotaryTable expected = make_table(layout(rope), frequencies(rope, 16384), range(8000, 4));
  EXPECT_TRUE(std::ranges::equal(expected.rows(), stretched.rows()));
}

TEST(RotaryTable, MayBeEmpty) {
  const RotaryTable table = make_table(plain_rope(8), range(5, 0));
  EXPECT_EQ(table.count(), 0);
  EXPECT_TRUE(table.rows().empty());
  EXPECT_ERROR((void)table.cos(5), "[RotaryTable] position must be at least 5 and below 5 but is 5");
}

TEST(RotaryTable, ReachesTheLastPositions) {
  constexpr std::int64_t kLast = std::int64_t{1} << 53U;
  EXPECT_EQ(make_table(plain_rope(8), range(kLast - 1, 2)).count(), 2);
  EXPECT_EQ(make_table(plain_rope(8), range(-kLast, 1)).count(), 1);
  EXPECT_ERROR(make_table(plain_rope(8), range(kLast, 2)),
               "[make_table] start + count - 1 must be at most 2^53 but is 9007199254740992 + 2 - 1");
  EXPECT_ERROR(make_table(plain_rope(8), range(kLast + 1, 0)),
               "[make_table] start must lie within -2^53 .. 2^53 but is 9007199254740993");
  EXPECT_ERROR(make_table(plain_rope(8), range(std::numeric_limits<std::int64_t>::min(), 1)),
               "[make_table] start must lie within -2^53 .. 2^53 but is -9223372036854775808");
}

TEST(RotaryTable, RefusesWrongRanges) {
  EXPECT_ERROR(make_table(plain_rope(8), range(0, -3)), "[make_table] count must be at least 0 but is -3");
  TableOptions options = range(0, 3);
  options.max_bytes = 3 * 4 * 2 * 4;
  EXPECT_EQ(make_table(plain_rope(8), options).count(), 3);
  options.max_bytes -= 1;
  EXPECT_ERROR(make_table(plain_rope(8), options), "[make_table] count must be at most 2 (max_bytes 95) but is 3");
  options.max_bytes = -1;
  EXPECT_ERROR(make_table(plain_rope(8), options), "[make_table] count must be at most 0 (max_bytes -1) but is 3");
  // Products of sizes that would overflow are refused too, at once.
  options.max_bytes = std::numeric_limits<std::int64_t>::max();
  options.count = std::int64_t{1} << 60U;
  EXPECT_THROW(make_table(plain_rope(8), options), Error);
  EXPECT_ERROR(make_table(plain_rope(128), range(0, 10'000'000)),
               "[make_table] count must be at most 2097152 (max_bytes 1073741824) but is 10000000");
}

TEST(RotaryTable, RefusesAnUnknownIsa) {
  TableOptions options = range(0, 1);
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512, Isa::neon}) {
    options.isa = isa;
    if (std::ranges::count(supported_isas(), isa) == 0) {
      EXPECT_THROW(make_table(plain_rope(8), options), Error);
    } else {
      EXPECT_EQ(make_table(plain_rope(8), options).count(), 1);
    }
  }
}

TEST(RotaryTable, RefusesWrongFrequencies) {
  const RotaryLayout four = layout(plain_rope(8));
  const TableOptions options = range(0, 2);
  EXPECT_ERROR(make_table(four, {{1.0, 1.0, 1.0}}, options),
               "[make_table] inv_freq must have dim/2 entries but is 3 long");
  EXPECT_ERROR(make_table(four, {{1.0, kNan, 1.0, 1.0}}, options),
               "[make_table] inv_freq must be finite and at most 2^53 but is nan");
  EXPECT_ERROR(make_table(four, {{1.0, 1.0, -1e300, 1.0}}, options),
               "[make_table] inv_freq must be finite and at most 2^53 but is -1e+300");
  EXPECT_ERROR(make_table(four, {{1.0, 1.0, 1.0, 1.0}, kNan}, options),
               "[make_table] attention_factor must be finite in float but is nan");
  EXPECT_ERROR(make_table(four, {{1.0, 1.0, 1.0, 1.0}, 1e39}, options),
               "[make_table] attention_factor must be finite in float but is 1e+39");
  EXPECT_ERROR(make_table(four, {{1.0, 1.0, 1.0, 0x1p23}}, range((1 << 30) - 1, 3)),
               "[make_table] position * inv_freq must be at most 2^53 radians but is 9007199263129600");
  RotaryLayout odd = four;
  odd.dim = 7;
  EXPECT_THROW(make_table(odd, {{1.0, 1.0, 1.0}}, options), Error);
}

TEST(RotaryTable, RefusesAWrongScheme) {
  EXPECT_THROW(make_table(plain_rope(7), range(0, 1)), Error);
  EXPECT_THROW(make_table(plain_rope(8, -1.0), range(0, 1)), Error);
  TableOptions options = range(0, 1);
  options.length = 0;
  EXPECT_THROW(make_table(plain_rope(8), options), Error);
}

TEST(TableFromCosSin, TakesValuesAsTheyAre) {
  std::vector<float> cos(3 * 4);
  std::vector<float> sin(3 * 4);
  std::iota(cos.begin(), cos.end(), 100.0F);
  std::iota(sin.begin(), sin.end(), -50.0F);
  const RotaryLayout four = layout(plain_rope(8));
  const RotaryTable table = table_from_cos_sin(four, cos, sin, 7, 1.25);
  EXPECT_EQ(table.start(), 7);
  EXPECT_EQ(table.count(), 3);
  EXPECT_EQ(table.attention_factor(), 1.25);
  EXPECT_EQ(table.cos(8)[0], 104.0F);
  EXPECT_EQ(table.sin(9)[3], -39.0F);
  EXPECT_EQ(table_from_cos_sin(four, {}, {}).count(), 0);
  EXPECT_ERROR(table_from_cos_sin(four, std::span(cos).first(11), sin),
               "[table_from_cos_sin] cos.size() must be a multiple of 4 pairs but is 11");
  EXPECT_ERROR(table_from_cos_sin(four, cos, std::span(sin).first(8)),
               "[table_from_cos_sin] sin.size() must be cos.size(), 12, but is 8");
  EXPECT_ERROR(table_from_cos_sin(four, cos, sin, (std::int64_t{1} << 53U) - 1),
               "[table_from_cos_sin] start + count - 1 must be at most 2^53 but is 9007199254740991 + 3 - 1");
  EXPECT_ERROR(table_from_cos_sin(four, cos, sin, 0, kNan),
               "[table_from_cos_sin] attention_factor must be finite in float but is nan");
}

TEST(TableFromAngles, RoundsOnce) {
  std::vector<double> radians;
  for (int i = 0; i < 5 * 11; ++i) radians.push_back(0.37 * i * i - 100.0);
  radians[3] = 0.0;
  radians[4] = 0x1p53;
  radians[5] = std::acos(0.0);  // as near to a zero of cos as a double comes there
  const RotaryLayout eleven = layout(plain_rope(22));
  AngleOracle oracle;
  for (const Isa isa : every_isa("tables of angles")) {
    const RotaryTable table = table_from_angles(eleven, radians, -2, 1.0, isa);
    ASSERT_EQ(table.count(), 5);
    for (std::size_t i = 0; i < radians.size(); ++i) {
      oracle.evaluate(radians[i], 1.0);
      const std::int64_t row = static_cast<std::int64_t>(i / 11) - 2;
      EXPECT_LE(ulp_error(table.cos(row)[i % 11], oracle.cos), kAngleMethodUlp) << radians[i];
      EXPECT_LE(ulp_error(table.sin(row)[i % 11], oracle.sin), kAngleMethodUlp) << radians[i];
    }
    EXPECT_EQ(table_from_angles(eleven, radians, -2, 1.5, isa).cos(-2)[3], 1.5F);
  }
  radians.pop_back();
  EXPECT_ERROR(table_from_angles(eleven, radians),
               "[table_from_angles] radians.size() must be a multiple of 11 pairs but is 54");
  radians.push_back(kNan);
  EXPECT_ERROR(table_from_angles(eleven, radians),
               "[table_from_angles] radians must be finite and at most 2^53 but is nan");
  radians.back() = 0x1p53 + 2;
  EXPECT_ERROR(table_from_angles(eleven, radians),
               "[table_from_angles] radians must be finite and at most 2^53 but is 9007199254740994");
}

}  // namespace
}  // namespace posenc::test::rotary_table_test
