// One float for each query and head, of lse and carry: [tokens, heads] or [batch, heads, tokens]. carry is [2, ..] of a
// layer with two schemes that sum along the keys: CoPE, which hands on what its gates have added up to, and forget
// gates, whose logarithms; in the order of the layer's schemes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>

#include "posenc/plan.h"
#include "posenc/tensor.h"

namespace posenc::cpu {

// `row`: of all members of the batch.
// Where there are no tokens nothing is asked for; 1 keeps the division defined.
inline float& number_of(const TensorView& x, std::int64_t row, std::int64_t head) {
  float* const data = static_cast<float*>(x.data);
  if (x.rank == 2) return data[row * x.strides[0] + head * x.strides[1]];
  const std::int64_t tokens = std::max<std::int64_t>(x.shape[2], 1);
  return data[row / tokens * x.strides[0] + head * x.strides[1] + row % tokens * x.strides[2]];
}

struct Carries {
  TensorView gates{};   // of CoPE
  TensorView forget{};  // of forget gates
};

// Of a carry that has been checked; empty where it is.
inline Carries carries_of(const LayerPlan& layer, const TensorView& all) {
  Carries out;
  std::int64_t sums = 0;
  for (const ScoreTerm& term : layer.score) {
    const bool is_gates = std::holds_alternative<ContextualPosition>(term);
    if (all.empty() || (!is_gates && !std::holds_alternative<ForgetGate>(term))) continue;
    TensorView& own = is_gates ? out.gates : out.forget;
    own = all;
    if (own.data != nullptr) own.data = static_cast<float*>(all.data) + sums * all.strides[0];
    ++sums;
  }
  if (sums < 2) return out;
  for (TensorView* const own : {&out.gates, &out.forget}) {
    --own->rank;
    std::copy(all.shape.begin() + 1, all.shape.end(), own->shape.begin());
    std::copy(all.strides.begin() + 1, all.strides.end(), own->strides.begin());
  }
  return out;
}

}  // namespace posenc::cpu
