// FIRE, arXiv 2310.04418: psi(x) = ln(c x + 1), of which the perceptron is asked a quotient (scores.h, fire_input).
#pragma once

#include <algorithm>
#include <cmath>

namespace posenc::math {

inline double fire_psi(double c, double x) { return std::log1p(c * x); }
inline double fire_denominator(double c, double threshold, double i) { return fire_psi(c, std::max(threshold, i)); }

}  // namespace posenc::math
