// Linear attention with rotation, in time that grows with the tokens and not with their square. RoFormer, arXiv
// 2104.09864, (19), on Katharopoulos et al., arXiv 2006.16236.
//
//   o_i = (R_i f(q_i))^T S_i / f(q_i)^T z_i        S_i = sum_j R_j f(k_j) v_j^T,  z_i = sum_j f(k_j)    over visible j
//
// The equation is that of reference_linear.h, the float64 reference; docs/schemes/linear-attention.md says why the
// denominator is not rotated. Keys enter S and z in chunks of 48; within its own chunk a causal query meets them one by
// one. Up to 4 tokens beside a state are taken one by one.
//
// Products and sums are in f32, whatever the dtypes of the tensors; each element of the output is rounded once. The
// result of a query does not depend on the number of threads, which share the KV heads, nor in a causal layer on what
// rows after it hold.
//
// Thread safety: calls that write to different tensors may run at the same time.
#pragma once

#include <functional>
#include <span>

#include "posenc/attend_backward.h"
#include "posenc/attention.h"
#include "posenc/export.h"
#include "posenc/feature_map.h"
#include "posenc/info.h"
#include "posenc/parallel.h"
#include "posenc/plan.h"
#include "posenc/rotary_table.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2 {

// The recurrent state, the sums over all keys so far. A call adds its own to what is there: begin with zeros, and pass
// it from call to call, for each token of a decode or each chunk of a prefill. It holds no positions: the caller
// continues them.
struct LinearState {
  TensorView products{};  // S, read and written: f32 [sequences, kv_heads, head_dim, value_dim]; a batch is sequences
  TensorView totals{};    // z, read and written: f32 [sequences, kv_heads, head_dim]
};

struct AttendLinearArgs {
  TensorView out{};     // written: [tokens, heads, value_dim] or [batch, heads, tokens, value_dim]
  ConstTensorView q{};  // [tokens, heads, head_dim] or [batch, heads, tokens, head_dim]
  ConstTensorView k{};  // likewise with kv_heads and tokens of its own
  ConstTensorView v{};
  LayerInputs inputs{};  // positions, packed sequences, length
  FeatureMap feature_map = FeatureMap::elu_plus_one;
  LinearState state{};  // omitted: starts from zero, and the final state is dropped
  Angles angles = Angles::exact;
  Parallel parallel{};
  Isa isa = Isa::automatic;
  // A callback, called every millisecond or so by one thread at a time: false cancels the call.
  std::function<bool()> keep_going{};
};

// Of the layer: its main rotations, sizes, and whether it is causal. In a causal layer the last query stands with the
// last key, as in attend; all keys of a state come before. Where the denominator is 0, as for a query that sees
// nothing, the output is 0.
//
// Throws Error, before anything is written, for what does not fit; for a layer with what linear attention has no place
// for (reference_linear.h); for a sliding window, chunks, orders or an attention mask of the caller's, which sums over
// all keys cannot honour; and for a state without positions, in a layer that rotates.
//
// False where keep_going returned false: out and state then hold nothing of use.
[[nodiscard]] POSENC_API bool attend_linear(const LayerPlan& layer, const AttendLinearArgs& args);

// The gradients of attend_linear, of a call without a state.
//
//   dn_i = do_i / t_i,  dt_i = - (dn_i . n_i) / t_i            o_i = n_i / t_i, the quotient above
//   df(q_i) = R_i^T S_i dn_i + dt_i z_i,   df(k_j) = R_j^T G_j v_j + g_j,   dv_j = G_j^T R_j f(k_j)
//   G_j = sum_i R_i f(q_i) dn_i^T,  g_j = sum_i dt_i f(q_i)    over the queries i that see j
//
// times f'. S and z are summed once more from the first key to the last, G and g from the last query to the first: as
// much memory as the sums, and two floats for each query. In f32, of each gradient in one order whatever the number of
// threads, which share the KV heads: results are the same to the bit. A gradient of a query does not depend in a causal
// layer on what rows after it hold, one of a key on those before. The float64 reference is that of
// reference_backward.h.
struct AttendLinearBackwardArgs {
  // As attend_linear was given them.
  ConstTensorView q{};
  ConstTensorView k{};
  ConstTensorView v{};
  LayerInputs inputs{};
  FeatureMap feature_map = FeatureMap::elu_plus_one;
  ConstTensorView d_out{};  // dL / d out: its shape

  // Written, of the shapes of q, k, v, in f32, f16 or bf16; each may be omitted. d_weights: "inv_freq" of a rotation
  // ("n.inv_freq" of rotation n, where there are several), [pairs], f32 or f64.
  TensorView d_q{};
  TensorView d_k{};
  TensorView d_v{};
  std::span<const NamedGradient> d_weights{};

  Angles angles = Angles::exact;
  Parallel parallel{};
  Isa isa = Isa::automatic;
  std::function<bool()> keep_going{};  // as in AttendLinearArgs
};

// Where the denominator is 0 there is no gradient, as the output is 0. Throws Error, before anything is written, for
// what attend_linear refuses, for gradients that do not fit or share memory with another tensor, and for a name that is
// not in gradient_names() or is given twice. False where keep_going returned false: gradients then hold nothing of use.
[[nodiscard]] POSENC_API bool attend_linear_backward(const LayerPlan& layer, const AttendLinearBackwardArgs& args);

}  // namespace posenc::inline v0_2
