// log, powers and frequencies against MPFR: the nearest double, on every processor.
#include "math/elementary.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "posenc/read_plan.h"
#include "posenc/rope.h"
#include "posenc/scores.h"
#include "support/real.h"
#include "support/test_data.h"

namespace posenc::test::elementary_test {
namespace {

constexpr mpfr_prec_t kBits = 200;

double nearest(Real& x) { return mpfr_get_d(x.get(), MPFR_RNDN); }

double log_of(double x) {
  Real y(kBits);
  mpfr_set_d(y.get(), x, MPFR_RNDN);
  mpfr_log(y.get(), y.get(), MPFR_RNDN);
  return nearest(y);
}

// base^(numerator / denominator)
double power_of(double base, double numerator, double denominator) {
  Real y(kBits);
  Real exponent(kBits);
  mpfr_set_d(y.get(), base, MPFR_RNDN);
  mpfr_set_d(exponent.get(), numerator, MPFR_RNDN);
  mpfr_div_d(exponent.get(), exponent.get(), denominator, MPFR_RNDN);
  mpfr_pow(y.get(), y.get(), exponent.get(), MPFR_RNDN);
  return nearest(y);
}

// Up to the largest positions, bases and factors, and beside 1.
double random_number(std::mt19937_64& random, double largest_exponent) {
  const double exponent = std::uniform_real_distribution<double>(-largest_exponent, largest_exponent)(random);
  return std::exp2(exponent);
}

TEST(Elementary, logarithms_are_the_nearest_double) {
  std::mt19937_64 random(20261125);
  for (int n = 0; n < 20000; ++n) {
    const double x = random_number(random, n % 4 == 0 ? 1000 : n % 4 == 1 ? 0x1p-20 : 60);
    ASSERT_EQ(math::logarithm(x), log_of(x)) << std::hexfloat << x;
  }
  EXPECT_EQ(math::logarithm(1.0), 0.0);
}

TEST(Elementary, powers_are_the_nearest_double) {
  std::mt19937_64 random(20261125);
  for (int n = 0; n < 20000; ++n) {
    const double base = random_number(random, 120);
    const double exponent = std::uniform_real_distribution<double>(-4.0, 4.0)(random);
    ASSERT_EQ(math::power(base, exponent), power_of(base, exponent, 1.0)) << std::hexfloat << base << " " << exponent;
  }
  EXPECT_EQ(math::power(10000.0, 0.5), 100.0);
  EXPECT_EQ(math::power(2.0, -149.0), 0x1p-149);
  EXPECT_EQ(math::power(3.0, 0.0), 1.0);
}

void expect_frequencies(double base, std::int64_t dim) {
  const Rope rope{.pairing = Pairing::half, .head_dim = dim, .dim = dim, .base = base, .scaling = {}, .axes = {}};
  const std::vector<double> found = frequencies(rope).inv_freq;
  for (std::size_t p = 0; p < found.size(); ++p) {
    ASSERT_EQ(found[p], power_of(base, -2.0 * static_cast<double>(p), static_cast<double>(dim)))
        << "base " << base << ", dim " << dim << ", pair " << p;
  }
}

TEST(Elementary, frequencies_are_the_nearest_double) {
  std::mt19937_64 random(20261125);
  for (int n = 0; n < 500; ++n) {
    const std::int64_t dim = 2 * std::uniform_int_distribution<std::int64_t>(1, 128)(random);
    // As files say it: whole, or with a digit or two.
    const double base = 1 + std::floor(random_number(random, 26) * 100) / 100;
    expect_frequencies(base, dim);
  }
  for (const double base : {10000.0, 500000.0, 1e6, 1e38, 1.0, 1.0000001}) {
    for (const std::int64_t dim : {2, 64, 96, 128, 256, 8192}) expect_frequencies(base, dim);
  }
}

// Of each base and width that a real model has.
TEST(Elementary, frequencies_of_real_models_are_the_nearest_double) {
  POSENC_NEED_DATA("configs");
  std::set<std::pair<double, std::int64_t>> seen;
  for (const auto& entry : std::filesystem::directory_iterator(test_data() / "configs")) {
    const Result<Plan> plan = read_plan(entry.path());
    if (!plan) continue;
    for (const Stack& stack : plan->stacks) {
      for (const LayerPlan& layer : stack.layers) {
        for (const Rotate& rotate : layer.rotate) seen.emplace(rope(rotate).base, rope(rotate).dim);
      }
    }
  }
  EXPECT_GE(seen.size(), 20U);
  for (const auto& [base, dim] : seen) expect_frequencies(base, dim);
}

TEST(Elementary, alibi_slopes_are_the_nearest_double) {
  for (const double max_bias : {8.0, 16.0, 7.3}) {
    for (const std::int64_t heads : {1, 2, 12, 16, 32, 71, 112}) {
      const std::vector<double> found = alibi_slopes({.heads = heads, .max_bias = max_bias, .geometric_slopes = true});
      for (std::size_t h = 0; h < found.size(); ++h) {
        Real product(kBits);
        mpfr_set_d(product.get(), -max_bias, MPFR_RNDN);
        mpfr_mul_ui(product.get(), product.get(), h + 1, MPFR_RNDN);
        mpfr_div_ui(product.get(), product.get(), static_cast<unsigned long>(heads), MPFR_RNDN);
        mpfr_exp2(product.get(), product.get(), MPFR_RNDN);
        ASSERT_EQ(found[h], nearest(product)) << max_bias << " " << heads << " " << h;
      }
    }
  }
}

}  // namespace
}  // namespace posenc::test::elementary_test
