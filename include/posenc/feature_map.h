// What linear attention makes of queries and keys instead of a softmax of their products.
#pragma once

#include <cstdint>

namespace posenc::inline v0_2 {

// elu_plus_one: exp(x) below 0, x + 1 above (arXiv 2006.16236).
enum class FeatureMap : std::uint8_t { elu_plus_one, identity, relu };

}  // namespace posenc::inline v0_2
