// What the angle kernel promises besides exactness: tails, bounds of memory, independence, symmetry.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernel_rows.h"

namespace posenc::test::angles_test {
namespace {

constexpr std::int64_t kLongestTail = 2 * 8 + 1;  // twice the widest vector, and one

std::vector<double> ladder(std::int64_t pairs) {
  std::vector<double> out;
  for (std::int64_t p = 0; p < pairs; ++p)
    out.push_back(std::pow(1e4, -static_cast<double>(p) / static_cast<double>(pairs)));
  return out;
}

// Every test of this file runs once for each set of kernels that the machine can run.
class Angles : public ::testing::TestWithParam<cpu::IsaKernels> {
 protected:
  const kernels::KernelTable& table() const { return GetParam().table; }
};

// Equal bits, so that -0 is not 0.
void expect_same(std::span<const float> a, std::span<const float> b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size_bytes()), 0);
}

// A row of `pairs` values equals the head of a longer row; x per row, per pair, near and far.
TEST_P(Angles, TailsEqualWholeVectors) {
  const std::vector<double> inv_freq = ladder(kLongestTail);
  for (const double x : {3.0, -131071.0, 0x1p31, 0x1p34 + 1, 0x1p50 + 1}) {
    const Rows whole = run_angles(table(), cpu::turns(inv_freq), kLongestTail, std::vector<double>{x});
    for (std::int64_t pairs = 1; pairs <= kLongestTail; ++pairs) {
      const auto size = static_cast<std::size_t>(pairs);
      cpu::Turns turns = cpu::turns(std::span(inv_freq).first(size));
      const Rows by_row = run_angles(table(), turns, pairs, std::vector<double>{x});
      expect_same(by_row.cos, std::span(whole.cos).first(size));
      expect_same(by_row.sin, std::span(whole.sin).first(size));
      const Rows by_pair = run_angles(table(), turns, pairs, std::vector<double>(size, x), 1.0, true);
      expect_same(by_pair.cos, by_row.cos);
      expect_same(by_pair.sin, by_row.sin);
    }
  }
}

// Nothing is written beside the rows, at any alignment, and inputs stay as they were. x per pair has no padding: the
// sanitizers see a read past its end.
TEST_P(Angles, WritesItsRowsOnly) {
  constexpr std::int64_t kRows = 3;
  constexpr std::int64_t kGap = 5;
  constexpr float kGuard = 12345.0F;
  for (const bool per_pair : {false, true}) {
    for (std::int64_t pairs = 1; pairs <= kLongestTail; ++pairs) {
      const std::vector<double> inv_freq = ladder(pairs);
      const cpu::Turns turns = cpu::turns(inv_freq);
      const std::vector<double> x(static_cast<std::size_t>(per_pair ? kRows * pairs : kRows), 17.0);
      const std::vector<double> x_before = x;
      const cpu::Turns turns_before = turns;
      const Rows expected = run_angles(table(), turns, pairs, x, 1.0, per_pair);
      for (std::int64_t offset = 0; offset < 4; ++offset) {
        const std::int64_t stride = pairs + kGap;
        std::vector<float> cos(static_cast<std::size_t>(offset + kRows * stride), kGuard);
        std::vector<float> sin = cos;
        table().angles({.rows = kRows,
                        .pairs = pairs,
                        .x = x.data(),
                        .x_stride = per_pair ? pairs : 1,
                        .per_pair = per_pair,
                        .near_limit = turns.near_limit,
                        .hi = turns.hi.data(),
                        .lo = turns.lo.data(),
                        .lowest = turns.lowest.data(),
                        .factor = 1.0,
                        .cos = cos.data() + offset,
                        .sin = sin.data() + offset,
                        .out_stride = stride});
        for (std::int64_t i = 0; i < std::ssize(cos); ++i) {
          const auto at = static_cast<std::size_t>(i);
          const std::int64_t row = (i - offset) / stride;
          const std::int64_t p = (i - offset) % stride;
          const bool inside = i >= offset && p < pairs;
          const auto from = static_cast<std::size_t>(inside ? row * pairs + p : 0);
          ASSERT_EQ(cos[at], inside ? expected.cos[from] : kGuard) << i;
          ASSERT_EQ(sin[at], inside ? expected.sin[from] : kGuard) << i;
        }
      }
      EXPECT_EQ(x, x_before);
      EXPECT_EQ(turns.hi, turns_before.hi);
      EXPECT_EQ(turns.lo, turns_before.lo);
      EXPECT_EQ(turns.lowest, turns_before.lowest);
    }
  }
}

TEST_P(Angles, NoRowsWriteNothing) {
  const cpu::Turns turns = cpu::turns(ladder(8));
  float untouched = 7.0F;
  table().angles({.rows = 0,
                  .pairs = 8,
                  .near_limit = turns.near_limit,
                  .hi = turns.hi.data(),
                  .lo = turns.lo.data(),
                  .lowest = turns.lowest.data(),
                  .cos = &untouched,
                  .sin = &untouched});
  EXPECT_EQ(untouched, 7.0F);
}

// A row is the same alone, among others, and between far ones; a pair the same beside far pairs.
TEST_P(Angles, DependOnNothingBesideThem) {
  const std::vector<double> inv_freq = ladder(19);
  const cpu::Turns turns = cpu::turns(inv_freq);
  const std::vector<double> x{5, 0x1p52, -7, 0x1p34, 0x1p34 + 1, 123456789, -0x1p53, 0};
  const Rows together = run_angles(table(), turns, 19, x);
  for (std::size_t t = 0; t < x.size(); ++t) {
    const Rows alone = run_angles(table(), turns, 19, std::span(x).subspan(t, 1));
    expect_same(alone.cos, std::span(together.cos).subspan(t * 19, 19));
    expect_same(alone.sin, std::span(together.sin).subspan(t * 19, 19));
  }
  std::vector<double> mixed;
  for (std::size_t p = 0; p < 19; ++p) mixed.push_back(x[p % x.size()]);
  const Rows per_pair = run_angles(table(), turns, 19, mixed, 1.0, true);
  for (std::size_t p = 0; p < 19; ++p) {
    EXPECT_EQ(per_pair.cos[p], together.cos[(p % x.size()) * 19 + p]) << p;
    EXPECT_EQ(per_pair.sin[p], together.sin[(p % x.size()) * 19 + p]) << p;
  }
}

TEST_P(Angles, EvenAndOdd) {
  std::mt19937_64 random(7);
  const cpu::Turns turns = cpu::turns(ladder(64));
  for (int i = 0; i < 2000; ++i) {
    const auto x = static_cast<double>(1 + (random() >> (11U + static_cast<unsigned>(i) % 50U)));
    const Rows plus = run_angles(table(), turns, 64, std::vector<double>{x});
    Rows minus = run_angles(table(), turns, 64, std::vector<double>{-x});
    for (float& s : minus.sin) s = -s;
    expect_same(plus.cos, minus.cos);
    expect_same(plus.sin, minus.sin);
  }
}

TEST_P(Angles, PositionZeroIsExact) {
  const cpu::Turns turns = cpu::turns(ladder(11));
  for (const double factor : {1.0, 1.0 / 3.0, 0.1 * std::log(40.0) + 1.0, 0.0, 1e30}) {
    const Rows rows = run_angles(table(), turns, 11, std::vector<double>{0.0}, factor);
    for (const float c : rows.cos)
      EXPECT_EQ(std::bit_cast<std::uint32_t>(c), std::bit_cast<std::uint32_t>(static_cast<float>(factor)));
    for (const float s : rows.sin) EXPECT_EQ(std::bit_cast<std::uint32_t>(s), 0U);
  }
}

// A pair whose frequency is 0 does not turn.
TEST_P(Angles, FrequencyZeroStandsStill) {
  const cpu::Turns turns = cpu::turns(std::vector<double>(9, 0.0));
  const Rows rows = run_angles(table(), turns, 9, std::vector<double>{0x1p53, 1.0, -5.0}, 1.25);
  EXPECT_TRUE(std::ranges::all_of(rows.cos, [](float c) { return c == 1.25F; }));
  EXPECT_TRUE(std::ranges::all_of(rows.sin, [](float s) { return s == 0.0F; }));
}

// Quarter turns, where cos and sin trade places, and the ties between them.
TEST_P(Angles, AllEightOctants) {
  const cpu::Turns turns = cpu::turns(std::vector<double>(8, std::acos(-1.0) / 4.0));  // an eighth of a turn, nearly
  for (int x = -32; x <= 32; ++x) {
    const Rows rows = run_angles(table(), turns, 8, std::vector<double>{static_cast<double>(x)});
    const double angle = x * (std::acos(-1.0) / 4.0);
    EXPECT_NEAR(rows.cos[0], std::cos(angle), 4e-8) << x;
    EXPECT_NEAR(rows.sin[0], std::sin(angle), 4e-8) << x;
  }
}

std::string isa_name(const ::testing::TestParamInfo<cpu::IsaKernels>& info) {
  return std::string(name(info.param.isa));
}

INSTANTIATE_TEST_SUITE_P(Isa, Angles, ::testing::ValuesIn(cpu::runnable_kernels()), isa_name);

}  // namespace
}  // namespace posenc::test::angles_test
