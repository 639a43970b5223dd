// The inputs of a layer's vectors: q, k, v, where the tokens stand, the learned tables that the layer's schemes have,
// and what a call brings besides.
#pragma once

#include <vector>

#include "vectors/token_places.h"

namespace posenc::inline v0_2::golden {

// Throws Error for a table that would be too large to be called small.
std::vector<VectorTensor> layer_inputs(const LayerPlan& layer, const TokenPlaces& places);

}  // namespace posenc::inline v0_2::golden
