// softplus(x) = ln(1 + e^x), without overflow for large x, where it is x.
#pragma once

#include <algorithm>
#include <cmath>

namespace posenc::math {

inline double softplus(double x) noexcept { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

}  // namespace posenc::math
