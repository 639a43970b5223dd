// Queries and keys that a checkpoint's projections make of inputs at random: what its weights alone say of scores.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/plan.h"
#include "posenc/tensor.h"

namespace posenc::tool {

struct WeightRows {
  std::vector<double> q;  // [kWeightQueries, heads, head_dim]
  std::vector<double> k;  // [kWeightKeys, kv_heads, head_dim]
  ConstTensorView q_view;
  ConstTensorView k_view;
};
inline constexpr std::int64_t kWeightQueries = 16;
inline constexpr std::int64_t kWeightKeys = 256;

// Of the layer `layer`, by its number, whose shapes the projections have. Inputs are independent normal numbers of
// variance 1 times the gains of the norm before the projections; biases are added, and queries and keys are normalised
// where the plan says so before the rotation. `checkpoint`: a file, an index, or a folder with either. Throws Failure
// where the projections are not there or not as the plan has them.
WeightRows rows_of_weights(const std::string& checkpoint, std::string_view model_type, const LayerPlan& layer);

}  // namespace posenc::tool
