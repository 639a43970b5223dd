// Three doubles of inv_freq / 2 pi against MPFR.
#include "cpu/angles/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "kernels/kernels.h"
#include "support/real.h"
#include "support/tolerances.h"

namespace posenc::test::turns_test {
namespace {

// |hi + lo + lowest - f / 2 pi| / |f / 2 pi|
double relative_error(double f, double hi, double lo, double lowest) {
  Real whole(400);
  Real two_pi(400);
  mpfr_const_pi(two_pi.get(), MPFR_RNDN);
  mpfr_mul_2ui(two_pi.get(), two_pi.get(), 1, MPFR_RNDN);
  mpfr_set_d(whole.get(), f, MPFR_RNDN);
  mpfr_div(whole.get(), whole.get(), two_pi.get(), MPFR_RNDN);
  Real rest(400);
  mpfr_set(rest.get(), whole.get(), MPFR_RNDN);
  for (const double part : {hi, lo, lowest}) mpfr_sub_d(rest.get(), rest.get(), part, MPFR_RNDN);
  mpfr_div(rest.get(), rest.get(), whole.get(), MPFR_RNDN);
  return std::abs(mpfr_get_d(rest.get(), MPFR_RNDN));
}

TEST(Turns, ThreePartsKeep158Bits) {
  std::mt19937_64 random(31);
  std::vector<double> frequencies{
      1.0, -1.0, 0x1p53, 1e-7, std::acos(-1.0), 2 * std::acos(-1.0), std::nextafter(1.0, 2)};
  for (int i = 0; i < 50'000; ++i) {
    const double significand = 1.0 + static_cast<double>(random() >> 12U) * 0x1p-52;
    frequencies.push_back(std::ldexp(significand, i % 60 - 40));
  }
  const cpu::Turns turns = cpu::turns(frequencies);
  double worst = 0.0;
  for (std::size_t p = 0; p < frequencies.size(); ++p) {
    worst = std::max(worst, relative_error(frequencies[p], turns.hi[p], turns.lo[p], turns.lowest[p]));
    ASSERT_EQ(turns.hi[p] + turns.lo[p], turns.hi[p]);
    ASSERT_EQ(turns.lo[p] + turns.lowest[p], turns.lo[p]);
  }
  std::printf("worst relative error %.3g, %.2g of the bound\n", worst, worst / kTurnsRelative);
  EXPECT_LE(worst, kTurnsRelative);
}

TEST(Turns, ZeroAndPadding) {
  const cpu::Turns turns = cpu::turns(std::vector<double>{0.0, 1.0, 0.5});
  ASSERT_EQ(turns.hi.size(), static_cast<std::size_t>(kernels::kPadding));
  EXPECT_EQ(turns.hi.size(), turns.lo.size());
  EXPECT_EQ(turns.hi.size(), turns.lowest.size());
  for (const std::size_t p : {0U, 3U, 4U, 5U, 6U, 7U}) {
    EXPECT_EQ(turns.hi[p], 0.0);
    EXPECT_EQ(turns.lo[p], 0.0);
    EXPECT_EQ(turns.lowest[p], 0.0);
  }
  EXPECT_EQ(turns.hi[1], 2 * turns.hi[2]);
}

// Up to near_limit an angle stays below 2^32 turns, whatever the frequencies.
TEST(Turns, NearLimit) {
  for (const double f : {1.0, 1e-4, 0x1p53, -3.0}) {
    const cpu::Turns turns = cpu::turns(std::vector<double>{f, f / 2});
    EXPECT_LT(std::abs(turns.hi[0]) * turns.near_limit, 0x1p32);
    EXPECT_GT(std::abs(turns.hi[0]) * turns.near_limit, 0x1p31);
  }
  EXPECT_GE(cpu::turns(std::vector<double>{0.0}).near_limit, 0x1p53);
}

}  // namespace
}  // namespace posenc::test::turns_test
