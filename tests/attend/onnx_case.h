// A backend node test of ONNX's Attention or FlexAttention as a call of reference::attend.
//
// 4-D inputs are [batch, heads, tokens, channels], 3-D ones [batch, tokens, heads * channels]. Attention caps the
// scores before it adds the mask. A query at row i of a causal case stands with key i + offset: behind past keys there
// are as many, of a buffer with nonpad_kv_seqlen valid keys the last query stands with the last of them, otherwise 0.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attend/attending.h"
#include "posenc/tensor_file.h"

namespace posenc::test {

// A .npy file; a mask of bool as 0 and 1.
struct Array {
  Tensor numbers;  // in double
  DType dtype{};   // of the file
  bool is_mask = false;
};

Array read_array(const std::filesystem::path& path);

struct OnnxCase {
  std::string name;
  std::string refusal;  // why this case is not understood; empty: it is
  DType dtype = DType::f32;
  bool has_graph = false;  // that changes the scores or the weights; what it does is not in case.json
  LayerPlan layer;
  Tensor q;  // [batch, heads, tokens, channels]
  Tensor k;  // the past before it
  Tensor v;
  std::optional<Tensor> attn_mask;
  std::optional<Tensor> bias;
  std::vector<std::int64_t> q_order;
  ScoreStage stage = ScoreStage::content;
  Tensor expected;               // Y, [batch, heads, tokens, channels]
  std::optional<Tensor> scores;  // qk_matmul_output

  LayerInputs inputs() const {
    LayerInputs out;
    out.q_order = q_order;
    if (attn_mask) out.attn_mask = *attn_mask;
    if (bias) out.bias = *bias;
    return out;
  }
};

OnnxCase read_onnx_case(const std::filesystem::path& folder);

}  // namespace posenc::test
