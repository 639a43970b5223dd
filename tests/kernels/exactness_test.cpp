// The promise of Angles::exact against MPFR, on every instruction set that this machine has.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernel_rows.h"
#include "support/near_zeros.h"
#include "support/real.h"
#include "support/ropes.h"
#include "support/tolerances.h"
#include "support/ulp.h"

namespace posenc::test::exactness_test {
namespace {

constexpr std::int64_t kPromised = std::int64_t{1} << 31U;

struct Worst {
  double error = 0.0;
  double position = 0.0;
  double frequency = 0.0;
  const char* function = "";

  void see(double seen, double x, double f, const char* name) {
    if (!(seen <= error)) *this = {seen, x, f, name};  // takes NaN too
  }
};

struct Tally {
  std::vector<cpu::IsaKernels> isas = cpu::runnable_kernels();
  std::vector<Worst> ulp = std::vector<Worst>(isas.size());
  std::vector<Worst> absolute = std::vector<Worst>(isas.size());
  std::int64_t samples = 0;
  Worst loop;            // of the product and the C library in double, in ulp: what exactness is for
  double nearest = 1.0;  // smallest |cos| or |sin| of a sample whose angle is not 0
  AngleOracle oracle;

  // Rows at `positions`; of each row the pairs from first to last.
  void compare(std::span<const double> inv_freq, std::span<const double> positions, std::size_t first,
               std::size_t last) {
    const std::size_t pairs = inv_freq.size();
    const cpu::Turns turns = cpu::turns(inv_freq);
    std::vector<Rows> rows;
    for (const cpu::IsaKernels& isa : isas) {
      rows.push_back(run_angles(isa.table, turns, static_cast<std::int64_t>(pairs), positions));
    }
    for (std::size_t t = 0; t < positions.size(); ++t) {
      for (std::size_t p = first; p < last; ++p) {
        oracle.evaluate(positions[t], inv_freq[p]);
        ++samples;
        if (positions[t] * inv_freq[p] != 0.0) {
          nearest = std::min({nearest, std::abs(oracle.cos.hi), std::abs(oracle.sin.hi)});
        }
        see_loop(positions[t], inv_freq[p]);
        for (std::size_t i = 0; i < isas.size(); ++i) {
          see(i, rows[i].cos[t * pairs + p], oracle.cos, positions[t], inv_freq[p], "cos");
          see(i, rows[i].sin[t * pairs + p], oracle.sin, positions[t], inv_freq[p], "sin");
        }
      }
    }
  }

  void see(std::size_t isa, float value, Pair truth, double x, double f, const char* name) {
    ulp[isa].see(ulp_error(value, truth), x, f, name);
    absolute[isa].see(absolute_error(value, truth), x, f, name);
  }

  void see_loop(double x, double f) {
    loop.see(ulp_error(static_cast<float>(std::cos(x * f)), oracle.cos), x, f, "cos");
    loop.see(ulp_error(static_cast<float>(std::sin(x * f)), oracle.sin), x, f, "sin");
  }

  void print(const char* what, const std::vector<Worst>& worst, double bound) const {
    std::printf("%s: %lld samples, nearest to a zero %.3g\n", what, static_cast<long long>(samples), nearest);
    for (std::size_t i = 0; i < isas.size(); ++i) {
      const Worst& w = worst[i];
      std::printf("  %-7s worst %.6g, %.3f of the bound: %s at position %.0f, inv_freq %.17g\n",
                  std::string(name(isas[i].isa)).c_str(), w.error, w.error / bound, w.function, w.position,
                  w.frequency);
    }
  }
};

std::vector<std::vector<double>> ladders() {
  std::vector<Rope> ropes;
  for (const double base : {1e4, 5e5, 1e6, 1e7}) {
    for (const std::int64_t dim : {64, 80, 96, 128, 256}) ropes.push_back(plain_rope(dim, base));
  }
  ropes.push_back(plain_rope(128, 1e4, LinearScaling{.factor = 8.0}));
  ropes.push_back(plain_rope(128, 1e4, NtkScaling{.alpha = 1000.0}));
  ropes.push_back(plain_rope(128, 5e5, Llama3Scaling{.factor = 8.0, .original_max_position_embeddings = 8192}));
  ropes.push_back(plain_rope(64, 1e4, YarnScaling{.factor = 40.0, .original_max_position_embeddings = 4096}));
  std::vector<double> factors;
  for (int p = 0; p < 48; ++p) factors.push_back(1.0 + 0.37 * p + 0.011 * p * p);
  ropes.push_back(plain_rope(96, 1e4, FactorListScaling{.factors = factors}));
  std::vector<std::vector<double>> out;
  for (const Rope& r : ropes) out.push_back(frequencies(r).inv_freq);
  return out;
}

// Whole positions of either sign, as many of few bits as of many, and the ones at which arithmetic changes.
std::vector<double> spread(std::mt19937_64& random, int count) {
  std::vector<double> out{0, 1, -1, 2, 4095, 131071, 0x1p20 - 1, 0x1p20, 0x1p20 + 1, -0x1p20 - 1, 0x1p24 + 1, 0x1p31};
  for (int i = 0; i < count; ++i) {
    const auto bits = std::uniform_int_distribution<int>(1, 31)(random);
    const auto x = static_cast<double>(random() >> static_cast<unsigned>(64 - bits));
    out.push_back(i % 4 == 3 ? -x : x);
  }
  return out;
}

TEST(Exactness, WithinOneUlpUpToPosition2To31) {
  constexpr std::uint64_t kSeed = 2104;
  std::mt19937_64 random(kSeed);
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  Tally tally;
  std::int64_t near_zeros = 0;
  for (const std::vector<double>& inv_freq : ladders()) {
    tally.compare(inv_freq, spread(random, 620), 0, inv_freq.size());
    for (std::size_t p = 0; p < inv_freq.size(); ++p) {
      const std::vector<std::int64_t> found = positions_near_zeros(inv_freq[p], kPromised);
      const std::vector<double> positions(found.begin(), found.end());
      tally.compare(inv_freq, positions, p, p + 1);
      near_zeros += std::ssize(found);
    }
  }
  tally.print("positions up to 2^31, error in ulp", tally.ulp, kAngleMethodUlp);
  std::printf("  a loop in double: %.3g: %s at position %.0f, inv_freq %.17g\n", tally.loop.error, tally.loop.function,
              tally.loop.position, tally.loop.frequency);
  std::printf("  of the samples, %lld lie nearest to zeros of cos and sin\n", static_cast<long long>(near_zeros));
  EXPECT_GE(tally.samples, 1'000'000);
  // 10^3 frequencies times 2^31 positions: the nearest lies about 2^-41 from a zero.
  EXPECT_LE(tally.nearest, 0x1p-36);
  static_assert(kAngleMethodUlp <= kAngleUlp);
  for (const Worst& worst : tally.ulp) EXPECT_LE(worst.error, kAngleMethodUlp);
}

// A frequency made so that position x comes as near to a zero of cos or sin as any double frequency lets it: among
// the k for which k pi / 2x is a double of this binade but for less than its last place, the best one.
double adversary(std::int64_t x) {
  constexpr int kBits = 400;
  Real spacing(kBits);  // of k pi / 2x, in last places of doubles in [1, 2)
  mpfr_const_pi(spacing.get(), MPFR_RNDN);
  mpfr_div_si(spacing.get(), spacing.get(), static_cast<long>(2 * x), MPFR_RNDN);
  const double step = mpfr_get_d(spacing.get(), MPFR_RNDN);
  mpfr_mul_2ui(spacing.get(), spacing.get(), 52, MPFR_RNDN);
  Real fraction(kBits);
  mpfr_frac(fraction.get(), spacing.get(), MPFR_RNDN);
  const std::vector<std::int64_t> turns = best_denominators(fraction, static_cast<std::int64_t>(1.99 / step));
  mpfr_mul_si(spacing.get(), spacing.get(), static_cast<long>(turns.back()), MPFR_RNDN);
  mpfr_div_2ui(spacing.get(), spacing.get(), 52, MPFR_RNDN);
  return mpfr_get_d(spacing.get(), MPFR_RNDN);
}

TEST(Exactness, HoldsForTheWorstFrequencies) {
  for (const unsigned bits : {12U, 20U, 31U}) {
    Tally tally;
    for (std::int64_t x = std::int64_t{1} << bits, last = x - std::min<std::int64_t>(x / 2, 20'000); x > last; --x) {
      const std::vector<double> inv_freq(8, adversary(x));
      tally.compare(inv_freq, std::vector<double>{static_cast<double>(x)}, 0, 1);
    }
    tally.print(("frequencies made against positions at 2^" + std::to_string(bits) + ", error in ulp").c_str(),
                tally.ulp, kAngleMethodUlp);
    // Each x offers 2^52 frequencies, all x together 20000 times as many: the nearest should be some 2^-64 away.
    EXPECT_LE(tally.nearest, bits == 12 ? 0x1p-56 : 0x1p-60);
    for (const Worst& worst : tally.ulp) EXPECT_LE(worst.error, kAngleMethodUlp);
  }
}

// The same products with the roles exchanged: coordinates of 53 bits against frequencies of 20.
TEST(Exactness, HoldsForTheWorstCoordinates) {
  Tally tally;
  for (std::int64_t f = 1 << 20; f > (1 << 20) - 20'000; --f) {
    const std::vector<double> inv_freq(8, static_cast<double>(f) * 0x1p-20);
    tally.compare(inv_freq, std::vector<double>{adversary(f) * 0x1p20}, 0, 1);
  }
  tally.print("coordinates below 2^21 made against their frequency, error in ulp", tally.ulp, kAngleMethodUlp);
  EXPECT_LE(tally.nearest, 0x1p-60);
  for (const Worst& worst : tally.ulp) EXPECT_LE(worst.error, kAngleMethodUlp);
}

TEST(Exactness, AbsoluteErrorUpTo2To53) {
  std::mt19937_64 random(1706);
  Tally tally;
  for (const double base : {1e4, 5e5, 1e7}) {
    const std::vector<double> inv_freq = frequencies(plain_rope(128, base)).inv_freq;
    std::vector<double> positions{0x1p53, -0x1p53, 0x1p53 - 1, 0x1p51 + 3, 0x1p34 - 1, 0x1p34 + 1};
    for (int i = 0; i < 400; ++i) {
      const auto bits = std::uniform_int_distribution<unsigned>(32, 53)(random);
      positions.push_back(static_cast<double>(random() >> (64U - bits)) * (i % 2 == 0 ? 1.0 : -1.0));
    }
    tally.compare(inv_freq, positions, 0, inv_freq.size());
  }
  tally.print("positions up to 2^53, absolute error", tally.absolute, kAngleAbsolute);
  for (const Worst& worst : tally.absolute) EXPECT_LE(worst.error, kAngleAbsolute);
}

// The samples near zeros are what they claim to be: against every position up to a limit, by brute force.
TEST(Exactness, PositionsNearZerosAreTheNearest) {
  constexpr std::int64_t kLimit = 1 << 17;
  for (const double f : {1.0, std::pow(1e4, -2.0 / 128), std::pow(5e5, -0.25), 0.1}) {
    std::int64_t best_cos = 0;
    std::int64_t best_sin = 0;
    AngleOracle oracle;
    double least_cos = 2.0;
    double least_sin = 2.0;
    for (std::int64_t x = 1; x <= kLimit; ++x) {
      oracle.evaluate(static_cast<double>(x), f);
      if (std::abs(oracle.cos.hi) < least_cos) least_cos = std::abs(oracle.cos.hi), best_cos = x;
      if (std::abs(oracle.sin.hi) < least_sin) least_sin = std::abs(oracle.sin.hi), best_sin = x;
    }
    const std::vector<std::int64_t> found = positions_near_zeros(f, kLimit);
    EXPECT_TRUE(std::ranges::binary_search(found, best_cos)) << f << " cos " << best_cos;
    EXPECT_TRUE(std::ranges::binary_search(found, best_sin)) << f << " sin " << best_sin;
  }
}

}  // namespace
}  // namespace posenc::test::exactness_test
