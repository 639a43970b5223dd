// The float64 reference of backward passes, first of attention's: reverse mode of the equation of reference_attend.h, a
// query and a key at a time.
//
//   D_i   = dL/do_i . o_i                                        o: without what an inverse rotation makes of it
//   dz_ij = p_ij (do_i . v'_ij - D_i) + exp(z_ij - lse_i) dlse_i        v': v_j with its value terms
//   dsink = - p_sink D_i                                         p_sink: the weight that the sink takes
//   dy_ij = (1 - (z_ij / cap)^2) dz_ij                           or of x, where the cap comes before the bias
//   dx_ij = dy_ij + what the terms along the row add             CoPE's gates are made of x
//
// and from there on the transposes of terms and rotations: dq_i = scale tau_i sum_j dx_ij R_i^T k~_j + ... The formulas
// are on docs/training.md. The forward pass is computed again, row by row, and nothing of it is kept.
//
// Where there is no derivative: FIRE's ReLU has 0 at 0, and max(L, i) half of it at L = i; CoPE's interpolation has 0
// at whole positions, and beyond the last row; roundings to bfloat16 (Falcon's ALiBi) count as if there were none. A
// query that sees nothing has no gradient.
#pragma once

#include <functional>
#include <span>

#include "posenc/attend_backward.h"
#include "posenc/attention.h"
#include "posenc/cache.h"
#include "posenc/export.h"
#include "posenc/feature_map.h"
#include "posenc/plan.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2::reference {

struct AttendBackwardArgs {
  // As attend is given them; of any dtype and strides.
  ConstTensorView q{};  // [tokens, heads, head_dim] or [batch, heads, tokens, head_dim]
  ConstTensorView k{};
  ConstTensorView v{};
  LayerWeights weights{};
  LayerInputs inputs{};
  ConstTensorView d_out{};  // dL / d out: [tokens, heads, value_dim] or [batch, heads, tokens, value_dim]
  ConstTensorView d_lse{};  // dL / d lse: [tokens, heads] or [batch, heads, tokens]; omitted: 0

  // Written: f64, each of the shape of what it is the gradient of; each may be omitted. d_weights by the names of
  // gradient_names().
  TensorView d_q{};
  TensorView d_k{};
  TensorView d_v{};
  std::span<const NamedGradient> d_weights{};
  TensorView d_bias{};
  TensorView d_log_forget{};
  TensorView d_row_gate{};
  std::function<bool()> keep_going{};  // called before each row of a head: false cancels the call
};

// Throws Error, before anything is written, for what attend refuses, for a gradient that does not fit its tensor, and
// for a name that is not in gradient_names() or is given twice. False where keep_going returned false: nothing is
// written then.
[[nodiscard]] POSENC_API bool attend_backward(const LayerPlan& layer, const AttendBackwardArgs& args);

// Of linear attention (reference_linear.h): o_i = n_i / t_i, n_i = sum_j w_ij v_j, w_ij = (R_i f(q_i)) . (R_j f(k_j)),
// t_i = sum_j f(q_i) . f(k_j).
//
//   dn_i = do_i / t_i      dt_i = - do_i . o_i / t_i      dw_ij = dn_i . v_j      dv_j = sum_i w_ij dn_i
//   df(q_i) = sum_j dw_ij R_i^T R_j f(k_j) + dt_i f(k_j), times f'(q_i); of k_j likewise
struct AttendLinearBackwardArgs {
  // As attend_linear is given them.
  ConstTensorView q{};
  ConstTensorView k{};
  ConstTensorView v{};
  LayerInputs inputs{};
  FeatureMap feature_map = FeatureMap::elu_plus_one;
  ConstTensorView d_out{};

  // Written, as in AttendBackwardArgs; of d_weights only frequencies have names.
  TensorView d_q{};
  TensorView d_k{};
  TensorView d_v{};
  std::span<const NamedGradient> d_weights{};
  std::function<bool()> keep_going{};
};

// Where the denominator is 0 there is no gradient, as the output is 0. Throws Error, before anything is written, for
// what attend_linear refuses, and for gradients that do not fit. False where keep_going returned false: nothing is
// written then.
[[nodiscard]] POSENC_API bool attend_linear_backward(const LayerPlan& layer, const AttendLinearBackwardArgs& args);

// Of reference::normalise (reference.h), the norm of keys: y = n weight + bias, n = x / r, r^2 = sum(x^2) / c +
// epsilon, x less its mean for `layer`, c the channels, or 1 for l2.
//
//   dn = dy weight      dweight = sum dy n      dbias = sum dy      dr = - sum(dn x) / r^2
//   dx = dn / r + dr x / (c r),   less its mean for `layer`
struct NormaliseBackwardArgs {
  ConstTensorView x{};      // as normalise is given it
  ConstTensorView d_out{};  // dL / d out, of its shape, any dtype
  KeyNorm norm{};

  // Written: f64, each of the shape of what it is the gradient of; each may be omitted.
  TensorView d_x{};
  TensorView d_weight{};
  TensorView d_bias{};
};

// Throws Error, before anything is written, for tensors that do not fit.
POSENC_API void normalise_backward(const NormaliseBackwardArgs& args);

}  // namespace posenc::inline v0_2::reference
