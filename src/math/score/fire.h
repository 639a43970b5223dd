// FIRE, arXiv 2310.04418: psi(x) = ln(c x + 1), of which the perceptron is asked a quotient (scores.h, fire_input), and
// what c and the threshold L do to it.
//
//   u = psi(|d|) / psi(max(L, i))
#pragma once

#include <algorithm>
#include <cmath>

namespace posenc::math {

inline double fire_psi(double c, double x) { return std::log1p(c * x); }
inline double fire_denominator(double c, double threshold, double i) { return fire_psi(c, std::max(threshold, i)); }

// d psi / dc
inline double fire_psi_by_c(double c, double x) { return x / (1.0 + c * x); }

// d max(L, i) / dL. At L = i, where it has a kink, the mean of both sides, as torch.maximum has it.
inline double fire_is_threshold(double threshold, double i) { return threshold == i ? 0.5 : threshold > i ? 1.0 : 0.0; }

struct FireDerivatives {
  double c;
  double threshold;
};

// du / dc and du / dL, at d = i - j of the query's position i.
inline FireDerivatives fire_derivatives(double c, double threshold, double distance, double i) {
  const double d = std::abs(distance);
  const double longest = std::max(threshold, i);
  const double denominator = fire_psi(c, longest);
  const double u = fire_psi(c, d) / denominator;
  const double by_longest = -u / denominator * c / (1.0 + c * longest);
  return {(fire_psi_by_c(c, d) - u * fire_psi_by_c(c, longest)) / denominator,
          by_longest * fire_is_threshold(threshold, i)};
}

}  // namespace posenc::math
