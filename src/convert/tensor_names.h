// What a tensor of a checkpoint is, by its name: the projection or norm of an attention that it belongs to, and which
// of that one's tensors it is.
//
//   model.layers.3.self_attn.q_proj.weight    module "model.layers.3.self_attn."  component "q_proj"  ending "weight"
//   blk.3.attn_k.weight                       module "blk.3."                     component "attn_k"  ending "weight"
//
// Names are those of transformers, of Meta's and Mistral's own files, of DeepSeek's, and of GGUF.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace posenc::conversion {

enum class Component : std::uint8_t {
  queries,
  keys,
  latent_keys,
  fused,
  values,
  query_norm,
  key_norm,
  unaffected,  // of q or k by its name, before the heads are made: q_a_proj
  unknown,     // of q or k by its name, and not known here
};

struct TensorName {
  std::string_view layers;     // up to the layer's number: "model.layers."
  std::string_view module;     // up to the component, with its dot
  std::string_view component;  // "q_proj"
  std::string_view ending;     // "weight", "lora_B.weight"; may be empty
  Component kind = Component::unknown;
  std::int64_t layer = 0;
  std::string_view stack;  // "vision", "audio", "encoder", "decoder"; empty: nothing says
  bool draft = false;      // of a layer that predicts tokens further on (mtp), counted from 0 by itself
};

// Nothing for a tensor that has nothing to do with the queries and keys of a self attention.
std::optional<TensorName> parse_tensor_name(std::string_view name);

// An adapter's matrix, by its ending.
bool is_lora_a(std::string_view ending) noexcept;
bool is_lora_b(std::string_view ending) noexcept;

}  // namespace posenc::conversion
