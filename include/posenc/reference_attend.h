// The slow truth of attention: every scheme and every mask, in double, one score at a time.
//
//   x_ij = scale tau_i (q~_i . k~_j + content terms)        q~, k~: turned; tau: query scale; scale: softmax_scale
//   y_ij = x_ij + sum of bias terms                         each times scale where the scheme says so (Falcon's ALiBi)
//   z_ij = cap tanh(y_ij / cap)                             or the cap before the bias, as the plan says
//   p_ij = exp(z_ij - m_i) / (sum_j exp(z_ij - m_i) + exp(sink_h - m_i))      over visible j; 0 elsewhere
//   o_i  = sum_j p_ij (v_j + value terms)
//
// Content terms (Shaw, Transformer-XL, XLNet, DeBERTa) take q and k as they are given, before any rotation.
// The formulas of the terms: src/math; one file of src/reference for those by distance, by content and along the row.
#pragma once

#include <cstdint>
#include <functional>

#include "posenc/attention.h"
#include "posenc/export.h"
#include "posenc/plan.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2::reference {

// The letters of the equation above: x, y, z and p. Where the cap comes before the bias, `capped` is cap tanh(x / cap),
// and `biased` what the softmax is made of.
enum class ScoreStage : std::uint8_t { content, biased, capped, weights };

struct AttendArgs {
  TensorView out;     // f64 [tokens, heads, value_dim] or [batch, heads, tokens, value_dim]
  ConstTensorView q;  // [tokens, heads, head_dim] or [batch, heads, tokens, head_dim]
  ConstTensorView k;  // likewise with kv_heads and tokens of its own
  ConstTensorView v;
  LayerWeights weights{};
  LayerInputs inputs{};
  // ln sum_j exp(z_ij), without the sink; -inf for a query that sees nothing, whose output is 0.
  TensorView lse{};  // f64 [tokens, heads] or [batch, heads, tokens]; may be left out
  // One stage of the scores. With bias and mask in one, as ONNX has it, keys that are not seen have -inf from where the
  // bias is in, in `weights` 0. So have, in every stage, keys of other packed sequences.
  TensorView scores{};  // f64 [heads, queries, keys] or [batch, heads, queries, keys]; may be left out
  ScoreStage stage = ScoreStage::weights;
  std::function<bool()> keep_going{};  // asked before each row of a head: false ends the call early
};

// Throws Error for a tensor, a weight or an input that does not fit the layer, that it needs and is left out, or that
// it has no place for. False where keep_going returned false: some rows are written then, others are not.
[[nodiscard]] POSENC_API bool attend(const LayerPlan& layer, const AttendArgs& args);

}  // namespace posenc::inline v0_2::reference
