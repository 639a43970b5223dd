// Tolerances of published models (tests/models), in the terms of tolerances.h, of which this is a part.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace posenc::test {

// Numbers that somebody published against a forward pass in double, as the root mean square of the difference. Both
// runs round, in ways that are known, in an order that is not: the publisher's roundings e are one more draw of those
// that a run makes at random (models/rounding.h).
//
// e is a sum of many small independent roundings, so that it is as good as normal with some covariance S, and its mean
// square over N numbers has
//
//     mean     tr S / N
//     variance 2 tr S^2 / N^2.
//
// It goes as chi^2_k / k of k = (tr S)^2 / tr S^2 degrees of freedom (Satterthwaite, Biometrics Bulletin 2, 1946): N,
// were the numbers' errors independent; few, where all hang on few roundings. Draws e_1 .. e_n give both traces without
// bias: the mean of |e_i|^2, and that of (e_i . e_j)^2 over pairs, which is far steadier than the spread of the n
// squares. The mean over n draws, which stands for tr S, has a variance of its own: k n / (n + 1) instead of k.
//
// The bound is what a correct run passes once in 10^6: a page compares a thousand runs, of 62 models on up to 6
// instruction sets with 3 begins. That quantile of chi^2_k / k is (1 - 2/(9 k) + z sqrt(2/(9 k)))^3 (Wilson and
// Hilferty, PNAS 17, 1931).
inline constexpr std::uint64_t kRoundingDraws = 16;
inline constexpr double kOnceInAMillion = 4.753424;  // z of the normal distribution: Phi(-z) = 10^-6

// Of errors [draws][numbers].
inline double rms_bound(const std::vector<std::vector<double>>& errors) {
  const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  const auto n = static_cast<double>(errors.size());
  double trace = 0;
  double trace_of_square = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    trace += dot(errors[i], errors[i]) / n;
    for (std::size_t j = 0; j < i; ++j) trace_of_square += std::pow(dot(errors[i], errors[j]), 2) * 2 / (n * (n - 1));
  }
  const double freedom = trace * trace / trace_of_square * n / (n + 1);
  const double spread = 2 / (9 * freedom);
  const double quantile = std::pow(1 - spread + kOnceInAMillion * std::sqrt(spread), 3);
  return std::sqrt(trace / static_cast<double>(errors.front().size()) * quantile);
}

// A mistake must stand out from roundings: it is seen when it takes the numbers a hundred times as far.
inline constexpr double kSpoiledOverBound = 100;

}  // namespace posenc::test
