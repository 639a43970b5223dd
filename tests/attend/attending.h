// reference::attend with results that are owned, and layers that have one thing to test.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "posenc/reference_attend.h"
#include "support/random_tensor.h"

namespace posenc::test {

using reference::ScoreStage;

// A tensor of the numbers that the case gives, in their order.
inline Tensor tensor_of(std::initializer_list<std::int64_t> shape, std::vector<double> values) {
  return {std::move(values), shape};
}

// A head of every channel beside the other: [rows, heads, channels] with `heads` times the same rows.
inline Tensor rows_of_heads(const std::vector<std::vector<double>>& rows, std::int64_t heads = 1) {
  Tensor out{{}, {std::ssize(rows), heads, rows.empty() ? 0 : std::ssize(rows[0])}};
  for (const std::vector<double>& row : rows) {
    for (std::int64_t h = 0; h < heads; ++h) out.values.insert(out.values.end(), row.begin(), row.end());
  }
  return out;
}

struct Call {
  ConstTensorView q;
  ConstTensorView k;
  ConstTensorView v;
  LayerWeights weights{};
  LayerInputs inputs{};
  ScoreStage stage = ScoreStage::weights;
};

struct Attended {
  Tensor out;     // [tokens, heads, value_dim] or [batch, heads, tokens, value_dim]
  Tensor lse;     // [tokens, heads] or [batch, heads, tokens]
  Tensor scores;  // [heads, queries, keys] or [batch, heads, queries, keys]

  // Of rank 3.
  double score(std::int64_t h, std::int64_t i, std::int64_t j) const {
    return scores.values[static_cast<std::size_t>((h * scores.shape[1] + i) * scores.shape[2] + j)];
  }
  double output(std::int64_t i, std::int64_t h, std::int64_t c) const {
    return out.values[static_cast<std::size_t>((i * out.shape[1] + h) * out.shape[2] + c)];
  }
};

inline Attended attended(const LayerPlan& layer, const Call& call) {
  const bool is_batch = call.q.rank == 4;
  const std::int64_t queries = call.q.shape[is_batch ? 2 : 0];
  const std::int64_t keys = call.k.shape[is_batch ? 2 : 0];
  const std::int64_t batch = call.q.shape[0];
  Attended result;
  if (is_batch) {
    result.out = zeros({batch, layer.heads, queries, layer.value_dim});
    result.lse = zeros({batch, layer.heads, queries});
    result.scores = zeros({batch, layer.heads, queries, keys});
  } else {
    result.out = zeros({queries, layer.heads, layer.value_dim});
    result.lse = zeros({queries, layer.heads});
    result.scores = zeros({layer.heads, queries, keys});
  }
  (void)reference::attend(layer, {.out = result.out.writable(),
                                  .q = call.q,
                                  .k = call.k,
                                  .v = call.v,
                                  .weights = call.weights,
                                  .inputs = call.inputs,
                                  .lse = result.lse.writable(),
                                  .scores = result.scores.writable(),
                                  .stage = call.stage});
  return result;
}

// A layer without positions that sees everything, scale 1.
inline LayerPlan bare_layer(std::int64_t heads = 1, std::int64_t head_dim = 1, std::int64_t value_dim = 1) {
  LayerPlan layer{.heads = heads, .kv_heads = heads, .head_dim = head_dim, .value_dim = value_dim};
  layer.mask.kind = MaskKind::bidirectional;
  return layer;
}

inline LayerPlan layer_with(ScoreTerm term, std::int64_t heads = 1, std::int64_t head_dim = 1) {
  LayerPlan layer = bare_layer(heads, head_dim);
  layer.score.push_back(std::move(term));
  return layer;
}

// What the score stage alone makes, where queries and keys are 0: y, [heads, queries, keys].
inline Attended biases(const LayerPlan& layer, std::int64_t queries, std::int64_t keys,
                       const LayerWeights& weights = {}, const LayerInputs& inputs = {}) {
  const Tensor q = zeros({queries, layer.heads, layer.head_dim});
  const Tensor k = zeros({keys, layer.kv_heads, layer.head_dim});
  const Tensor v = zeros({keys, layer.kv_heads, layer.value_dim});
  return attended(layer, {.q = q, .k = k, .v = v, .weights = weights, .inputs = inputs, .stage = ScoreStage::biased});
}

}  // namespace posenc::test
