// All that a layer has learned, by name: the tables and numbers of named_weights.h, and, of what a plan has as numbers,
// ALiBi's slopes and the inverse frequencies of its rotations. What has a gradient (posenc/attend_backward.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "posenc/attend_backward.h"
#include "posenc/attention.h"
#include "posenc/plan.h"
#include "posenc/tensor.h"

namespace posenc::math {

struct LearnedTensor {
  std::string name;
  // The layer's own; without data where it is no tensor there: FIRE's c and threshold [1], slopes, inverse frequencies.
  ConstTensorView tensor;
};

// In order: those of each score term, "value_table", "sinks", "inv_freq" of each main rotation. Of tensors that may be
// omitted those that are given. `weights` are checked (check_attend.h), or nothing is said of what is missing.
std::vector<LearnedTensor> learned_tensors(const LayerPlan& layer, const LayerWeights& weights);

// "n." where there are several of what it names, as named_weights has it.
std::string prefix_of(std::size_t n, std::size_t count);
// How many rotations a layer has whose frequencies have names: those of an indexer, and what comes before a projection,
// have none.
std::size_t main_rotations(const LayerPlan& layer);

// Throws Error for a name that learned_tensors() has not or that is given twice, and for a gradient that has not the
// shape of its tensor, nor one of those dtypes, or no elements.
void check_gradients(const char* where, const LayerPlan& layer, const LayerWeights& weights,
                     std::span<const NamedGradient> given, std::span<const DType> dtypes);

// Throws Error unless `written` is omitted, or has the shape of `like`, which is there, and one of those dtypes.
void check_gradient(const char* where, const std::string& field, const TensorView& written, const ConstTensorView& like,
                    std::span<const DType> dtypes);

}  // namespace posenc::math
