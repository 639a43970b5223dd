// Linear attention with rotation, in time that grows with the tokens and not with their square. RoFormer, arXiv
// 2104.09864, (19), on Katharopoulos et al., arXiv 2006.16236.
//
//   o_i = (R_i f(q_i))^T S_i / f(q_i)^T z_i        S_i = sum_j R_j f(k_j) v_j^T,  z_i = sum_j f(k_j)    over visible j
//
// The equation is that of reference_linear.h, the slow truth; docs/schemes/linear-attention.md says why the denominator
// does not turn. Keys enter S and z in chunks of 48; within its own chunk a causal query meets them one by one. Up to 4
// tokens beside a state are taken one by one.
//
// Products and sums are in f32, whatever the dtypes of the tensors; each element of the output is rounded once. The
// result of a query does not depend on the number of threads, which share the key heads, nor in a causal layer on what
// rows after it hold.
//
// Thread safety: calls that write to different tensors may run at the same time.
#pragma once

#include <functional>

#include "posenc/attention.h"
#include "posenc/export.h"
#include "posenc/feature_map.h"
#include "posenc/info.h"
#include "posenc/parallel.h"
#include "posenc/plan.h"
#include "posenc/rotary_table.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2 {

// What keys add up to. A call adds its own to what is there: begin with zeros, and go from call to call, for each token
// that is decoded or each part of a prompt. It holds no positions: they are the caller's to continue.
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
  LinearState state{};  // left out: no keys came before, and nobody asks what they add up to
  Angles angles = Angles::exact;
  Parallel parallel{};
  Isa isa = Isa::automatic;
  // Asked every millisecond or so, by one thread at a time: false ends the call early.
  std::function<bool()> keep_going{};
};

// Of the layer: its main rotations, sizes, and whether it is causal. In a causal layer the last query stands with the
// last key, as in attend; all keys of a state come before. Where the denominator is 0, as for a query that sees
// nothing, the output is 0.
//
// Throws Error, before anything is written, for what does not fit; for a layer with what linear attention has no place
// for (reference_linear.h); for a window, a chunk, orders or a matrix of who sees whom, which sums over all keys cannot
// tell; and for a state without positions, in a layer that turns.
//
// False where keep_going returned false: out and state then hold nothing of use.
[[nodiscard]] POSENC_API bool attend_linear(const LayerPlan& layer, const AttendLinearArgs& args);

}  // namespace posenc::inline v0_2
