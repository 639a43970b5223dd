// The learned tables of a layer, from the tensors of a file: --weights. docs/cli.md lists their names.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "posenc/attention.h"
#include "posenc/plan.h"
#include "posenc/tensor_file.h"

namespace posenc::tool {

struct LayerTables {
  LayerWeights weights{};
  // Inputs of a call that come with them: log_forget [key rows, heads], row_gate [query rows, heads], segments [rows].
  ConstTensorView log_forget{};
  ConstTensorView row_gate{};
  std::vector<std::int32_t> q_segments{};
  std::vector<std::int32_t> k_segments{};
  std::vector<std::string> names{};        // of what was read
  std::deque<TensorData> data{};           // what the views are of: a file's,
  std::deque<std::vector<float>> drawn{};  // or drawn ones (drawn_tables.h)
};

// Throws Failure for a file or a tensor that cannot be had, and for a layer that needs tables without a file;
// UsageError for a file that the layer does not need.
LayerTables read_tables(const std::optional<std::string>& file, const LayerPlan& layer, const std::string& layer_name);

}  // namespace posenc::tool
