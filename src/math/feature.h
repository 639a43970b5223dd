// What linear attention makes of a channel of a query or key, and its derivative (posenc/feature_map.h).
//
//   elu(x) + 1    e^x below 0, x + 1 above: e^x, 1      arXiv 2006.16236, (7)
//   relu          max(x, 0): 1 above 0, else 0, as torch has it at 0
#pragma once

#include <algorithm>
#include <cmath>

#include "posenc/feature_map.h"

namespace posenc::math {

inline double feature(FeatureMap map, double x) noexcept {
  switch (map) {
    case FeatureMap::elu_plus_one: return x < 0.0 ? std::exp(x) : x + 1.0;
    case FeatureMap::identity: return x;
    case FeatureMap::relu: return std::max(x, 0.0);
  }
  return x;
}

inline double feature_derivative(FeatureMap map, double x) noexcept {
  switch (map) {
    case FeatureMap::elu_plus_one: return x < 0.0 ? std::exp(x) : 1.0;
    case FeatureMap::identity: return 1.0;
    case FeatureMap::relu: return x > 0.0 ? 1.0 : 0.0;
  }
  return 1.0;
}

}  // namespace posenc::math
