// Attention in double by primitives instead of schemes: what lowering a layer (src/cpu/lower) must not change. Tests
// compare it with reference::attend.
#pragma once

#include "math/primitives.h"
#include "posenc/reference_attend.h"

namespace posenc::inline v0_2::reference {

// As attend(), with scores and values made of the primitives that the layer was lowered to for this very call. Mask,
// cap, sink, softmax and sums are the layer's, by the same code.
// `lowered` is of these very tensors and positions: places and tables are per row of the call.
void attend_lowered(const math::Lowered& lowered, const LayerPlan& layer, const AttendArgs& args);

}  // namespace posenc::inline v0_2::reference
