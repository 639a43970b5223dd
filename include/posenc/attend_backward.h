// The backward pass of attend: gradients of q, k, v and of everything that a layer has learned.
//
//   d_out = dL / d out   ->   d_q, d_k, d_v, and dL / dw of tables, slopes, sinks, ...
//
// Nothing of n x n is kept: tiles of scores are computed again from q, k and lse, as FlashAttention-2 has it (arXiv
// 2307.08691, algorithm 2). Sums are in f32, of each gradient in one order whatever the number of threads: results are
// the same to the bit. The float64 reference is reference::attend_backward (reference_backward.h), written from the
// formulas; the derivative of each scheme's formula stands with the formula, in src/math.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/attend.h"
#include "posenc/attention.h"
#include "posenc/export.h"
#include "posenc/parallel.h"
#include "posenc/plan.h"
#include "posenc/prepared_layer.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2 {

// The gradient of one learned tensor, by its name: those of named_weights.h ("table", "hidden.weight", "1.r1",
// "value_table", "sinks"), and of what a plan has as numbers: "inv_freq" [pairs] of the first rotation ("n.inv_freq" of
// rotation n, where there are several) and "slopes" [heads] of ALiBi ("n.slopes" of term n, where there are several).
struct NamedGradient {
  std::string_view name;
  TensorView gradient{};  // written: the shape of the tensor, f32 or f64
};

struct AttendBackwardArgs {
  // As attend was given them.
  ConstTensorView q{};
  ConstTensorView k{};
  ConstTensorView v{};
  AttendPages pages{};
  LayerWeights weights{};
  LayerInputs inputs{};
  // As attend wrote them.
  ConstTensorView out{};
  ConstTensorView lse{};
  ConstTensorView d_out{};  // the gradient of out: its shape
  ConstTensorView d_lse{};  // the gradient of lse: its shape; omitted: 0
  // Where k and v are a part of the keys (MergeArgs in attend.h), out and lse those of all parts: what attend was given
  // as carry for this part, before it added to it. What depends on outputs alone is in the gradients of each part, and
  // counts once: that of the sinks, and of inv_freq where outputs are rotated back.
  ConstTensorView carry{};

  // Written, of the shapes of q, k, v; each may be omitted. Of paged keys d_k and d_v have the rows of the call, and
  // not its pages: [tokens, kv_heads, head_dim].
  TensorView d_q{};
  TensorView d_k{};
  TensorView d_v{};
  std::span<const NamedGradient> d_weights{};
  // Of inputs, likewise: f32 or f64, each of the shape of the input. d_bias is as large as the bias is.
  TensorView d_bias{};
  TensorView d_log_forget{};
  TensorView d_row_gate{};
  // Of parts of the keys, which are passed from the first to the last: for each query, the gradient that the parts
  // before give to the gates of this one; then, with what this one gives to those after it. Like carry; omitted:
  // none come before.
  TensorView d_carry{};  // read and written

  Parallel parallel{};
  Isa isa = Isa::automatic;
  std::function<bool()> keep_going{};  // as in AttendArgs
};

// The names that d_weights of this layer may have, in order.
POSENC_API std::vector<std::string> gradient_names(const LayerPlan& layer, const LayerWeights& weights);

// Throws Error, before anything is written, for what attend refuses, for tensors that do not fit it, and for a name
// that is not in gradient_names() or is given twice. False where keep_going returned false: gradients then hold nothing
// of use.
[[nodiscard]] POSENC_API bool attend_backward(const LayerPlan& layer, const AttendBackwardArgs& args);

// The same of attend(prepared, args) in prepared_layer.h, to the bit that of its layer and weights: what attention
// makes of the weights is not made again. A step that changes weights needs a layer prepared anew. Throws Error, too,
// where args has weights, or an instruction set that is not the layer's.
[[nodiscard]] POSENC_API bool attend_backward(const PreparedLayer& prepared, const AttendBackwardArgs& args);

}  // namespace posenc::inline v0_2
