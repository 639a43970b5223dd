// What linear attention cannot honour, by the formula or by the kernels: everything that acts on single scores.
#pragma once

#include "posenc/attention.h"
#include "posenc/error.h"
#include "posenc/plan.h"

namespace posenc::math {

// Throws Error for score and value terms, a query scale, regions, a soft cap, sinks, xPos, a bias, and tensors that
// come rotated.
void refuse_softmax_terms(const LayerPlan& layer, const LayerInputs& inputs);

// The layer as check_attend knows it: one that attends.
LayerPlan attending(const LayerPlan& layer);

// What work() returns. An Error of a check that both calls share says the name of the call that was made.
template <typename Work>
auto named_attend_linear(const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    throw Error("attend_linear", error.problem());
  }
}

}  // namespace posenc::math
