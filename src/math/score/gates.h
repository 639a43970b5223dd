// The logistic function, which counts tokens in CoPE (arXiv 2405.18719), and SiLU (arXiv 1702.03118), between the
// layers of a perceptron of the distance; and the derivatives of both.
//
//   s(x) = 1 / (1 + e^-x)    s' = s (1 - s)        silu(x) = x s(x)    silu' = s (1 + x (1 - s))
//
// Without overflow: where e^-x is infinite, s is 0 and x s is -0, and so are the derivatives. s is softplus' derivative
// too (softplus.h).
#pragma once

#include <cmath>

namespace posenc::math {

inline double logistic(double x) noexcept { return 1.0 / (1.0 + std::exp(-x)); }

// Of s(-x) instead of 1 - s(x), which is 0 beyond x = 37.
inline double logistic_derivative(double x) noexcept { return logistic(x) * logistic(-x); }

inline double silu(double x) noexcept { return x / (1.0 + std::exp(-x)); }

inline double silu_derivative(double x) noexcept { return logistic(x) * (1.0 + x * logistic(-x)); }

}  // namespace posenc::math
