// The projections of queries and keys in a checkpoint, by their names: those of Hugging Face, of GGUF, of Meta's and
// llama2.c's own files.
#pragma once

#include <string>
#include <vector>

#include "posenc/tensor_file.h"

namespace posenc::tool {

struct ProjectionNames {
  std::string q;       // "model.layers.3.self_attn.q_proj.weight"
  std::string k;       // "model.layers.3.self_attn.k_proj.weight"
  std::string norm;    // of the layer's inputs, "model.layers.3.input_layernorm.weight"; the file may not have it
  std::string q_norm;  // "model.layers.3.self_attn.q_norm.weight"; nor this and the next
  std::string k_norm;
};

// In the order of the file. Fused projections are not among them.
std::vector<ProjectionNames> projections(const TensorFile& file);

// "model.layers.3.self_attn.q_proj.bias" of ".weight".
std::string bias_of(const std::string& weight);

}  // namespace posenc::tool
