// The slow truth of linear attention with rotation, in double. RoFormer, arXiv 2104.09864, (19).
//
//   o_i = sum_j (R_i f(q_i)) . (R_j f(k_j)) v_j / sum_j f(q_i) . f(k_j)      over visible j
//
// The feature map f comes first and the rotation after it, in the numerator only: rotated features may be negative, so
// a denominator of them could vanish. There is no softmax scale, and the attention factor does not apply: a constant
// would change the numerator alone. Weights need not lie in [0, 1]. In floats: attend_linear.h.
#pragma once

#include <functional>

#include "posenc/attention.h"
#include "posenc/export.h"
#include "posenc/feature_map.h"
#include "posenc/plan.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2::reference {

struct AttendLinearArgs {
  TensorView out{};  // f64; tensors as for attend (reference_attend.h)
  ConstTensorView q{};
  ConstTensorView k{};
  ConstTensorView v{};
  LayerInputs inputs{};  // positions, order, packed sequences, attn_mask
  FeatureMap feature_map = FeatureMap::elu_plus_one;
  std::function<bool()> keep_going{};  // as in AttendArgs
};

// Of the layer: its main rotations, mask and sizes. Where the denominator is 0, as for a query that sees nothing, the
// output is 0. Throws Error for what does not fit, and for a layer with what linear attention has no place for: score
// and value terms, a query scale, regions, a soft cap, sinks, xPos, or q and k that are turned already.
// False where keep_going returned false: some rows are written then, others are not.
[[nodiscard]] POSENC_API bool attend_linear(const LayerPlan& layer, const AttendLinearArgs& args);

}  // namespace posenc::inline v0_2::reference
