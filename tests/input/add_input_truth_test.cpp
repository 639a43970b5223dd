// Sinusoids of add_input against MPFR, from 10000^(-2p/d) itself: within the bound of add_input.h, up to positions
// where a frequency made by pow of a rounded exponent would be off by more.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "posenc/add_input.h"
#include "support/error_ratio.h"
#include "support/every_isa.h"
#include "support/real.h"
#include "support/ulp.h"

namespace posenc::test::add_input_truth_test {
namespace {

// sin and cos of place * base^(-numerator / denominator), in 400 bits: places reach 2^53.
class SinusoidOracle {
 public:
  void evaluate(double place, double base, std::int64_t numerator, std::int64_t denominator) {
    mpfr_set_si(w_.get(), static_cast<long>(-numerator), MPFR_RNDN);
    mpfr_div_si(w_.get(), w_.get(), static_cast<long>(denominator), MPFR_RNDN);
    mpfr_set_d(power_.get(), base, MPFR_RNDN);
    mpfr_pow(w_.get(), power_.get(), w_.get(), MPFR_RNDN);
    mpfr_mul_d(w_.get(), w_.get(), place, MPFR_RNDN);
    angle = mpfr_get_d(w_.get(), MPFR_RNDN);
    mpfr_sin_cos(sin_.get(), cos_.get(), w_.get(), MPFR_RNDN);
    sin = to_pair(sin_);
    cos = to_pair(cos_);
  }
  double angle = 0;
  Pair sin;
  Pair cos;

 private:
  Real w_{400};
  Real power_{400};
  Real sin_{400};
  Real cos_{400};
};

const std::vector<double> kPlaces = {0,
                                     1,
                                     2,
                                     -3,
                                     17,
                                     511.25,
                                     4095,
                                     32767,
                                     1048575,
                                     1000000007,
                                     0x1p31,
                                     -0x1p40 + 1,
                                     0x1p45 + 0.5,
                                     0x1p50 + 3,
                                     0.5,
                                     -2047.75,
                                     1e-3,
                                     123456789.0,
                                     98765432109.0,
                                     0x1p53 - 1};

void expect_sinusoids(const SinusoidalInput& scheme, std::int64_t channels, bool ends_at_base,
                      const std::function<std::pair<std::int64_t, std::int64_t>(std::int64_t)>& columns_of) {
  const std::int64_t rows = std::ssize(kPlaces);
  for (const Isa isa : every_isa("add_input against MPFR")) {
    // -0 plus a number is that number: what is left is the row.
    std::vector<float> x(static_cast<std::size_t>(rows * channels), -0.0F);
    ASSERT_TRUE(add_input(
        scheme, {},
        {.x = tensor(x.data(), {rows, channels}), .positions = std::span<const double>(kPlaces), .isa = isa}));
    ErrorRatio ratio("sinusoids, " + std::string(name(isa)));
    SinusoidOracle oracle;
    for (std::int64_t t = 0; t < rows; ++t) {
      for (std::int64_t p = 0; p < channels / 2; ++p) {
        const double place = kPlaces[static_cast<std::size_t>(t)];
        oracle.evaluate(place, 10000.0, ends_at_base ? p : 2 * p, ends_at_base ? channels / 2 - 1 : channels);
        const auto [sine, cosine] = columns_of(p);
        for (const auto& [column, truth] : {std::pair(sine, oracle.sin), {cosine, oracle.cos}}) {
          const float value = x[static_cast<std::size_t>(t * channels + column)];
          const double bound = 0x1p-53 * std::abs(oracle.angle) + float_ulp(truth.hi);
          ratio.add(absolute_error(value, truth), bound, "place " + std::to_string(place));
        }
      }
    }
    ratio.expect();
  }
}

TEST(AddInputTruth, Paper) {
  expect_sinusoids({}, 512, false, [](std::int64_t p) { return std::pair(2 * p, 2 * p + 1); });
}

TEST(AddInputTruth, Whisper) {
  expect_sinusoids({.convention = SinusoidConvention::whisper}, 384, true,
                   [](std::int64_t p) { return std::pair(p, 192 + p); });
}

}  // namespace
}  // namespace posenc::test::add_input_truth_test
