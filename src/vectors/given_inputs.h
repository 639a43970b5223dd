// A caller's own inputs of a layer's vectors, in place of drawn ones (layer_inputs.h).
#pragma once

#include <vector>

#include "posenc/vectors.h"

namespace posenc::inline v0_2::golden {

std::int64_t tokens_of(const VectorInputs& inputs);

// The layer; of the rotation alone without what needs tables. Throws Error where the inputs do not fit it.
LayerPlan layer_of_inputs(LayerPlan layer, const VectorInputs& inputs);

// q, k, v, positions and order, and the tables; what is omitted is 0. Throws Error for a NaN or an
// infinity, and for positions that do not fit.
std::vector<VectorTensor> given_inputs(const LayerPlan& layer, const VectorOptions& options,
                                       const VectorInputs& inputs);

}  // namespace posenc::inline v0_2::golden
