// Every view of a layer's weights, one after another: to be spoilt, or put elsewhere.
#pragma once

#include <vector>

#include "posenc/attention.h"

namespace posenc::fuzz {

std::vector<ConstTensorView*> views_of(LayerWeights& weights);

}  // namespace posenc::fuzz
