#include "math/elementary.h"

#include <array>
#include <cmath>
#include <cstddef>

namespace posenc::math {
namespace {

// high + low, |low| at most half an ulp of high: high is the pair rounded to double.
struct Pair {
  double high = 0.0;
  double low = 0.0;
};

// ---- sums and products whose rounding error is kept ----

// |a| >= |b|, or a is 0.
constexpr Pair ordered_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

constexpr Pair exact_sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

// The upper 26 bits of a double and the rest, below 2^996. Not std::fma, which is a slow call where it is no
// instruction.
constexpr Pair halves(double a) {
  constexpr double kSplit = 134217729.0;  // 2^27 + 1
  const double scaled = kSplit * a;
  const double high = scaled - (scaled - a);
  return {high, a - high};
}

constexpr Pair exact_product(double a, double b) {
  const double product = a * b;
  const Pair x = halves(a);
  const Pair y = halves(b);
  return {product, ((x.high * y.high - product) + x.high * y.low + x.low * y.high) + x.low * y.low};
}

constexpr Pair operator+(Pair a, Pair b) {
  const Pair high = exact_sum(a.high, b.high);
  const Pair low = exact_sum(a.low, b.low);
  const Pair sum = ordered_sum(high.high, high.low + low.high);
  return ordered_sum(sum.high, sum.low + low.low);
}

constexpr Pair operator-(Pair a) { return {-a.high, -a.low}; }

constexpr Pair operator*(Pair a, Pair b) {
  const Pair product = exact_product(a.high, b.high);
  return ordered_sum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

constexpr Pair operator/(Pair a, Pair b) {
  const double first = a.high / b.high;
  const Pair left = a + -(Pair{first} * b);
  const double second = left.high / b.high;
  const Pair rest = left + -(Pair{second} * b);
  return ordered_sum(first, second) + Pair{rest.high / b.high};
}

// A power of two times the pair: exact.
constexpr Pair scaled(Pair a, double power_of_two) { return {a.high * power_of_two, a.low * power_of_two}; }

// ---- series ----

// c[0] + c[1] x + ... of pairs; the terms from `Exact` on are below 2^-53 of the first, and doubles are enough.
template <std::size_t Exact, std::size_t Terms>
Pair series(const std::array<Pair, Terms>& c, Pair x) {
  double tail = c[Terms - 1].high;
  for (std::size_t n = Terms - 1; n-- > Exact;) tail = tail * x.high + c[n].high;
  Pair sum{tail};
  for (std::size_t n = Exact; n-- > 0;) sum = sum * x + c[n];
  return sum;
}

// ln(2) = high + low + 6e-34: the binary digits of 0.6931471805599453094172321214581765680755 in two doubles.
constexpr Pair kLn2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

// ln(m) = 2 atanh(s) = 2 s (1 + s^2/3 + s^4/5 + ...), s = (m - 1)/(m + 1). With m between sqrt(1/2) and sqrt(2), s^2 is
// at most 0.0295: 22 terms leave 2^-115, and the terms from the 11th on are below 2^-55.
constexpr std::size_t kAtanhTerms = 22;
constexpr std::size_t kAtanhExact = 11;
constexpr std::array<Pair, kAtanhTerms> kAtanh = [] {
  std::array<Pair, kAtanhTerms> c{};
  for (std::size_t n = 0; n < kAtanhTerms; ++n) c[n] = Pair{1.0} / Pair{static_cast<double>(2 * n + 1)};
  return c;
}();

Pair log_of(double x) {
  constexpr double kRootOfHalf = 0x1.6a09e667f3bcdp-1;
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // exact
  if (m < kRootOfHalf) {
    m *= 2;
    --exponent;
  }
  const Pair s = exact_sum(m, -1.0) / exact_sum(m, 1.0);
  const Pair of_m = scaled(s * series<kAtanhExact>(kAtanh, s * s), 2.0);
  return Pair{static_cast<double>(exponent)} * kLn2 + of_m;
}

// (exp(t) - 1)/t = 1 + t/2! + t^2/3! + ...; of |t| below 2^-10.5, 9 terms leave 2^-113, and those from the 6th on are
// below 2^-61.
constexpr std::size_t kExpTerms = 9;
constexpr std::size_t kExpExact = 5;
constexpr std::array<Pair, kExpTerms> kExp = [] {
  std::array<Pair, kExpTerms> c{};
  double factorial = 1.0;
  for (std::size_t n = 0; n < kExpTerms; ++n) {
    factorial *= static_cast<double>(n + 1);
    c[n] = Pair{1.0} / Pair{factorial};
  }
  return c;
}();

// exp(x) = 2^k (1 + p), p = exp(r) - 1 of |r| <= ln(2)/2, from p of r/2^9 by 1 + p -> (1 + p)^2 nine times. What is
// doubled is p, so no bit is lost to the 1.
Pair exp_of(Pair x) {
  constexpr int kDoublings = 9;
  const double k = std::floor(x.high / kLn2.high + 0.5);
  if (std::isnan(k)) return {k};
  if (std::abs(k) > 4096) return {k < 0 ? 0.0 : HUGE_VAL};  // far beyond all doubles
  const Pair r = x + -(Pair{k} * kLn2);
  const Pair t = scaled(r, 0x1p-9);
  Pair p = t * series<kExpExact>(kExp, t);
  for (int n = 0; n < kDoublings; ++n) p = scaled(p, 2.0) + p * p;
  const Pair of_r = Pair{1.0} + p;
  return {std::ldexp(of_r.high, static_cast<int>(k)), std::ldexp(of_r.low, static_cast<int>(k))};
}

}  // namespace

double logarithm(double x) noexcept { return log_of(x).high; }

double power(double base, double exponent) noexcept {
  if (exponent == 0.0 || base == 1.0) return 1.0;
  return exp_of(log_of(base) * Pair{exponent}).high;
}

std::vector<double> power_sequence(double base, double numerator, double denominator, std::int64_t count) {
  // Four sequences side by side: a product of pairs is a long chain of operations, and these do not wait for each
  // other.
  constexpr std::size_t kLanes = 4;
  const Pair exponent = Pair{numerator} / Pair{denominator};
  const Pair ratio = exp_of(log_of(base) * exponent);
  const Pair squared = ratio * ratio;
  const Pair step = squared * squared;
  std::array<Pair, kLanes> last{Pair{1.0}, ratio, squared, squared * ratio};
  std::vector<double> out(static_cast<std::size_t>(count));
  for (std::size_t n = 0; n < out.size(); n += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (n + lane < out.size()) out[n + lane] = last[lane].high;
      last[lane] = last[lane] * step;
    }
  }
  return out;
}

}  // namespace posenc::math
