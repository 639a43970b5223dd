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
};

// ---- roles.cpp: what a tensor is for, by its name in Hugging Face's files or in GGUF ----

enum class TensorRole : std::uint8_t {
  queries,     // [heads x head_dim, in]; with a gate twice as many rows
  keys,        // [kv_heads x head_dim, in]
  values,      // [kv_heads x value_dim, in]
  output,      // [out, heads x value_dim]
  query_norm,  // [head_dim], or [heads x head_dim] over all heads
  key_norm,
  sinks,       // [heads]
  table,       // [positions, in], added to the embeddings
  bias_table,  // [buckets, heads] of T5
  factors,     // [dim / 2] of a rotation
};

struct Role {
  TensorRole role;
  std::optional<std::int64_t> layer;  // none: of the whole stack
  std::string_view stack;             // "vision", "audio", "encoder", "decoder"; empty: nothing says
};

// Nothing for other names.
std::optional<Role> role_of(std::string_view name);

// ---- judge.cpp ----

std::vector<Warning> judge_shapes(const Plan& plan, std::span<const NamedShape> tensors);

// ---- beside.cpp: the tensors beside a config ----

// Names and shapes of the model.safetensors in the folder, or of the shards that its index names; empty where there are
// none. A file that cannot be read is a warning, for the config can be without it.
std::vector<NamedShape> shapes_beside(const std::filesystem::path& folder, std::vector<Warning>& warnings);

}  // namespace posenc::plan
