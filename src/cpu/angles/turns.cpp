// inv_freq / 2 pi as a sum of three doubles, by error-free sums and products: two-sum (Knuth, TAOCP vol. 2, 4.2.2) and
// two-product by fused multiply-add. turns.h says why three; docs/angles.md has the error bound.
#include "cpu/angles/turns.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/angles/inverse_two_pi.h"
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

// f / (2 pi) as three doubles that do not overlap, the largest first.
struct Parts {
  double hi;
  double lo;
  double lowest;
};

// f / (2 pi) by the four parts of 1 / (2 pi). The products a, b, c stand 2^-53 apart, so their halves are added level
// by level, each sum handing its error down; what is only rounded is below 2^-158 of the whole.
Parts divide_by_two_pi(double f) {
  const Sum a = two_product(f, kInverseTwoPi[0]);
  const Sum b = two_product(f, kInverseTwoPi[1]);
  const Sum c = two_product(f, kInverseTwoPi[2]);
  const Sum second = two_sum(a.error, b.value);
  const Sum third = two_sum(b.error, c.value);
  const Sum third_all = two_sum(third.value, second.error);
  const double fourth = third.error + third_all.error + c.error + f * kInverseTwoPi[3];
  const Sum hi = two_sum(a.value, second.value);
  const Sum lo = two_sum(hi.error, third_all.value);
  return {hi.value, lo.value, lo.error + fourth};
}

}  // namespace

// Padded, since the kernel reads whole vectors; a padded pair has the frequency 0 and is not stored.
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
  // 2^34 radians are below 2^32 turns, of which lo is below 2^-21.
  out.near_limit = largest == 0.0 ? std::numeric_limits<double>::max() : 0x1p34 / largest;
  return out;
}

}  // namespace posenc::cpu
