// Weights and inputs of a layer as the structs of attention in posenc/c.h have them: members of the same names.
#pragma once

#include <string_view>
#include <vector>

#include "c/arguments.h"
#include "c/status.h"
#include "posenc/attend_backward.h"
#include "posenc/attention.h"
#include "posenc/c.h"
#include "posenc/named_weights.h"

namespace posenc::c {

// Of args with weights and their count.
// Throws Error for a name that the layer has no table of, one given twice, and a table that is missing.
template <typename Args>
LayerWeights attention_weights(const char* where, const Args& given, const LayerPlan& layer) {
  std::vector<NamedWeight> out;
  for (const posenc_named_tensor& one : list(where, "weights", given.weights, given.weights_count)) {
    const std::string_view name = &required(where, "weights' name", one.name);
    out.push_back({name, view(where, "weights' tensor", one.tensor)});
  }
  return named_weights(layer, out);
}

// Members that are 0 or NULL leave LayerInputs as it begins: "omitted".
template <typename Args>
LayerInputs attention_inputs(const char* where, const Args& given) {
  LayerInputs out{.q_positions = positions_if(where, "q_positions", given.q_positions),
                  .k_positions = positions_if(where, "k_positions", given.k_positions),
                  .q_order = list(where, "q_order", given.q_order, given.q_order_count),
                  .k_order = list(where, "k_order", given.k_order, given.k_order_count),
                  .cu_seqlens_q = list(where, "cu_seqlens_q", given.cu_seqlens_q, given.cu_seqlens_q_count),
                  .cu_seqlens_k = list(where, "cu_seqlens_k", given.cu_seqlens_k, given.cu_seqlens_k_count),
                  .prefix = given.prefix,
                  .attn_mask = view(where, "attn_mask", given.attn_mask),
                  .bias = view(where, "bias", given.bias),
                  .q_segments = list(where, "q_segments", given.q_segments, given.q_segments_count),
                  .k_segments = list(where, "k_segments", given.k_segments, given.k_segments_count),
                  .log_forget = view(where, "log_forget", given.log_forget),
                  .row_gate = view(where, "row_gate", given.row_gate),
                  .q_rotated = given.q_rotated != 0,
                  .k_rotated = given.k_rotated != 0};
  // 0 stands for no length, which no sequence has.
  if (given.length != 0) out.length = given.length;
  return out;
}

// Gradients that are to be written, by name.
inline std::vector<NamedGradient> named_gradients(const char* where, const posenc_named_gradient* given,
                                                  std::int64_t count) {
  std::vector<NamedGradient> out;
  for (const posenc_named_gradient& one : list(where, "d_weights", given, count)) {
    const std::string_view name = &required(where, "d_weights' name", one.name);
    out.push_back({name, view(where, "d_weights' gradient", one.gradient)});
  }
  return out;
}

}  // namespace posenc::c
