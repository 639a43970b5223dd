// Shapes judge a plan: what the names and shapes of a model's tensors say of its heads, norms, sinks and tables,
// compared with the plan. No data is read. A tensor whose name says nothing here is passed over, so that silence is no
// agreement; a contradiction is the warning `shape-mismatch`, with the tensor's name, its shape, and what the plan
// says.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/plan.h"

namespace posenc::plan {

struct NamedShape {
  std::string name;
  std::vector<std::int64_t> shape;  // the slowest axis first, whatever the file's order
  bool is_plain = true;             // false: of packed weights, whose shape is not the model's
};

// ---- roles.cpp: what a tensor is for, by its name in Hugging Face's files or in GGUF ----

enum class TensorRole : std::uint8_t {
  queries,     // [heads x head_dim, in]; with a gate twice as many rows
  keys,        // [kv_heads x head_dim, in]
  values,      // [kv_heads x value_dim, in]
  output,      // [out, heads x value_dim]
  query_norm,  // [head_dim], or [heads x head_dim] over all heads
  key_norm,
  sinks,           // [heads]
  table,           // [positions, in], added to the embeddings
  bias_table,      // [buckets, heads] of T5
  factors,         // [dim / 2] of a rotation
  fused,           // queries, keys and values in one, [rows of all three, in], or as Conv1D of GPT-2 has it [in, rows]
  latent,          // of MLA: [latent channels + those that rotate, in]
  latent_norm,     // [latent channels]
  latent_up,       // [heads x (channels that do not rotate + value_dim), latent channels]
  latent_queries,  // [heads x head_dim, latent channels of queries]
  words,           // [words, in]
};

struct Role {
  TensorRole role;
  std::optional<std::int64_t> layer;  // none: of the whole stack
  std::string_view stack;             // "vision", "audio", "encoder", "decoder"; empty: nothing says
  std::string_view module;            // of the layer's attention, "model.layers.3.self_attn."; empty without a layer
  bool crosses = false;               // of the cross attention of the layer's block
};

// "model.layers." and 3 of "model.layers.3.self_attn.q_proj.weight": up to the first part that is a number.
struct Numbered {
  std::string_view before;
  std::int64_t number;
};
std::optional<Numbered> numbered(std::string_view name);

// Nothing for other names.
std::optional<Role> role_of(std::string_view name);

// Whose tensor it is: nullptr where that is not said, and for a tower that the plan does not have.
const Stack* stack_for(const Plan& plan, const Role& role);

// ---- judge.cpp ----

// Tensors without a role are passed too: what they may be keeps others from being called absent.
std::vector<Warning> judge_shapes(const Plan& plan, std::span<const NamedShape> tensors);

// ---- layer_numbers.cpp: layers that the names count, and those of the plan ----

// Of a whole model's tensors, those of all types.
std::vector<Warning> judge_layer_numbers(const Plan& plan, std::span<const NamedShape> tensors);

// ---- beside.cpp: the tensors beside a config ----

// Names and shapes of the model.safetensors in the folder, or of the shards that its index names; empty where there are
// none. A file that cannot be read is a warning, for the config can be without it.
std::vector<NamedShape> shapes_beside(const std::filesystem::path& folder, std::vector<Warning>& warnings);

}  // namespace posenc::plan
