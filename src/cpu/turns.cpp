#include "cpu/turns.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cpu/inverse_two_pi.h"
#include "kernels/kernels.h"

namespace posenc::cpu {
namespace {

struct Sum {
  double value;
  double error;
};

// Knuth: value + error == a + b exactly.
Sum two_sum(double a, double b) {
  const double value = a + b;
  const double b_part = value - a;
  return {value, (a - (value - b_part)) + (b - b_part)};
}

// value + error == a b exactly, but for underflow.
Sum two_product(double a, double b) {
  const double value = a * b;
  return {value, std::fma(a, b, -value)};
}

// One pass of error-free sums, smallest first: the rounded sum moves to the front, its error stays behind
// (VecSum of Ogita, Rump, Oishi, SIAM J. Sci. Comput. 26 (2005)).
template <std::size_t kTerms>
void distil(std::array<double, kTerms>& terms) {
  for (std::size_t i = kTerms - 1; i > 0; --i) {
    const Sum s = two_sum(terms[i - 1], terms[i]);
    terms[i - 1] = s.value;
    terms[i] = s.error;
  }
}

// f / (2 pi), by the four parts of 1 / (2 pi); the last product is below 2^-161 of the whole and need not be exact.
std::array<double, 3> divide_by_two_pi(double f) {
  const Sum a = two_product(f, kInverseTwoPi[0]);
  const Sum b = two_product(f, kInverseTwoPi[1]);
  const Sum c = two_product(f, kInverseTwoPi[2]);
  std::array<double, 7> terms{a.value, a.error, b.value, b.error, c.value, c.error, f * kInverseTwoPi[3]};
  std::array<double, 3> parts{};
  for (double& part : parts) {
    for (std::size_t pass = 0; pass < terms.size(); ++pass) distil(terms);
    part = terms[0];
    terms[0] = 0.0;
  }
  return parts;
}

}  // namespace

Turns turns(std::span<const double> frequencies) {
  const std::size_t padded = (frequencies.size() + kernels::kPadding - 1) / kernels::kPadding * kernels::kPadding;
  Turns out{std::vector<double>(padded), std::vector<double>(padded), std::vector<double>(padded)};
  double largest = 0.0;
  for (std::size_t p = 0; p < frequencies.size(); ++p) {
    const auto [hi, lo, lowest] = divide_by_two_pi(frequencies[p]);
    out.hi[p] = hi;
    out.lo[p] = lo;
    out.lowest[p] = lowest;
    largest = std::max(largest, std::abs(frequencies[p]));
  }
  // 2^20: a position of 20 bits times a double comes no nearer than 2^-79 to a zero, where two parts (2^-106) leave a
  // relative error of 2^-27, an eighth of an ulp of f32. And 2^50 radians are below 2^48 turns. docs/angles.md
  out.near_limit = largest == 0.0 ? 0x1p20 : std::min(0x1p20, 0x1p50 / largest);
  return out;
}

}  // namespace posenc::cpu
