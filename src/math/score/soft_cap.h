// Logit soft-capping (Gemma 2, arXiv 2408.00118): z = cap tanh(y / cap), and its derivative.
#pragma once

#include <cmath>

namespace posenc::math {

inline double soft_capped(double cap, double y) noexcept { return cap * std::tanh(y / cap); }

// dz / dy = 1 - tanh(y / cap)^2, of the capped z. As a product of both factors: near z = cap the difference of squares
// would lose what the smaller one has.
inline double soft_cap_derivative(double cap, double z) noexcept { return (1.0 - z / cap) * (1.0 + z / cap); }

}  // namespace posenc::math
