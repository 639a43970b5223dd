// The arithmetic by which `posenc demo` judges tables, against MPFR with 300 bits.
#include "bench/angle_truth.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace posenc::tool::angle_truth_test {
namespace {

constexpr mpfr_prec_t kBits = 300;  // 53 + 53 bits of the product, as many cancelled at most, and plenty

class Oracle {
 public:
  Oracle() { mpfr_inits2(kBits, angle_, cos_, sin_, static_cast<mpfr_ptr>(nullptr)); }
  ~Oracle() { mpfr_clears(angle_, cos_, sin_, static_cast<mpfr_ptr>(nullptr)); }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  // The largest relative error of cos and sin, in units of 2^-53.
  double error(std::int64_t position, double inv_freq, const CosAndSin& got) {
    mpfr_set_si(angle_, position, MPFR_RNDN);
    mpfr_mul_d(angle_, angle_, inv_freq, MPFR_RNDN);
    mpfr_sin_cos(sin_, cos_, angle_, MPFR_RNDN);
    return std::max(relative(cos_, got.cos), relative(sin_, got.sin));
  }

 private:
  double relative(mpfr_t truth, double got) {
    if (mpfr_zero_p(truth)) return got == 0.0 ? 0.0 : HUGE_VAL;
    mpfr_d_sub(angle_, got, truth, MPFR_RNDN);
    mpfr_div(angle_, angle_, truth, MPFR_RNDN);
    return std::fabs(mpfr_get_d(angle_, MPFR_RNDN)) * 0x1p53;
  }
  mpfr_t angle_, cos_, sin_;
};

// Half of these are the frequencies of models, half anything.
std::vector<double> inverse_frequencies() {
  std::vector<double> out{0.0, 1.0, -1.0, 0x1p-52, 1e-300, 3.5, -3.5, 1e9};
  for (int p = 0; p < 64; ++p) out.push_back(std::pow(500000.0, -p / 64.0));
  std::mt19937_64 random(7);
  for (int i = 0; i < 64; ++i) out.push_back(std::exp2(-40.0 * static_cast<double>(random() >> 11) * 0x1p-53));
  return out;
}

TEST(AngleTruth, IsWithinItsBound) {
  Oracle oracle;
  std::mt19937_64 random(8);
  double worst = 0.0;
  for (const double inv_freq : inverse_frequencies()) {
    std::vector<std::int64_t> positions = hardest_positions(inv_freq, std::int64_t{1} << 53);
    for (int bits = 0; bits <= 53; ++bits) {
      positions.push_back(static_cast<std::int64_t>(random() & ((std::uint64_t{1} << bits) - 1)));
      positions.push_back(std::int64_t{1} << bits);
    }
    for (const std::int64_t position : positions) {
      for (const std::int64_t signed_position : {position, -position}) {
        worst = std::max(worst, oracle.error(signed_position, inv_freq, true_cos_sin(signed_position, inv_freq)));
      }
    }
  }
  RecordProperty("worst_in_2_to_minus_53", std::to_string(worst));
  EXPECT_LE(worst, 4.0);
  EXPECT_GT(worst, 0.04);
}

TEST(AngleTruth, HardPositionsComeNearQuarterTurns) {
  for (const double inv_freq : {1.0, std::pow(10000.0, -0.25), std::pow(500000.0, -0.9)}) {
    const std::vector<std::int64_t> hard = hardest_positions(inv_freq, std::int64_t{1} << 31);
    // Denominators grow by a factor of exp(pi^2 / (12 ln 2)) = 3.3 on average, from 1 / inv_freq to the limit: here at
    // least 8 of them fit on average.
    ASSERT_GE(hard.size(), 5U);
    for (const std::int64_t position : hard) {
      const CosAndSin t = true_cos_sin(position, inv_freq);
      // A denominator q of a continued fraction is within 1/q of a whole number: here of quarter turns, pi/2 each.
      EXPECT_LT(std::min(std::fabs(t.cos), std::fabs(t.sin)), 1.5708 / static_cast<double>(position));
    }
  }
}

}  // namespace
}  // namespace posenc::tool::angle_truth_test
