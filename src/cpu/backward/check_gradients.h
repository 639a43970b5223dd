// What gradients must keep to, whatever they are gradients of: shapes, dtypes, and memory that nothing else has. Each
// throws Error of the call `where` for the first thing that does not fit.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "posenc/attend_backward.h"
#include "posenc/attention.h"
#include "posenc/plan.h"
#include "posenc/tensor.h"

namespace posenc::cpu {

// Of what is only read, where a view of what is written is asked for.
TensorView written_view(const ConstTensorView& x);

void require_given(const char* where, const std::string& field, const ConstTensorView& x);
void require_aligned(const char* where, const std::string& field, const ConstTensorView& x);

// Of tensors of heads: f32, f16 or bf16, of the shape of `like`, channels adjacent. May be omitted.
void check_heads_gradient(const char* where, const std::string& field, const TensorView& x,
                          const ConstTensorView& like);
// Of inputs: f32 or f64, of the shape of `like`.
void check_numbers_gradient(const char* where, const std::string& field, const TensorView& x,
                            const ConstTensorView& like);
// Of what a layer has learned: f32 or f64, by the names of gradient_names().
void check_learned_gradients(const char* where, const LayerPlan& layer, const LayerWeights& weights,
                             std::span<const NamedGradient> given);

using NamedTensors = std::vector<std::pair<std::string, ConstTensorView>>;

// No element is written twice, nor read and written.
void check_written_apart(const char* where, const NamedTensors& written, const NamedTensors& read);

}  // namespace posenc::cpu
