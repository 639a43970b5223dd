// What linear attention cannot honour, by the formula or by the kernels: everything that acts on single scores.
#pragma once

#include "posenc/attention.h"
#include "posenc/plan.h"

namespace posenc::math {

// Throws Error for score and value terms, a query scale, regions, a soft cap, sinks, xPos, a bias, and tensors that
// come rotated.
void refuse_softmax_terms(const LayerPlan& layer, const LayerInputs& inputs);

// The layer as check_attend knows it: one that attends.
LayerPlan attending(const LayerPlan& layer);

}  // namespace posenc::math
