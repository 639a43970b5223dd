// One head's scores or weights of a layer for figures, by the float64 reference; -infinity of a masked key becomes NaN.
#include "plot/drawn_layer.h"

#include <cmath>
#include <limits>
#include <utility>

namespace posenc::tool {

std::span<const double> Tables::keep(std::vector<double> values) {
  all_.push_back(std::make_unique<std::vector<double>>(std::move(values)));
  return *all_.back();
}

ConstTensorView Tables::add(std::vector<double> values, std::initializer_list<std::int64_t> shape) {
  return tensor(keep(std::move(values)).data(), shape);
}

// reference::attend gives the scores of all heads, [heads, queries, keys], beside an output that is dropped, so values
// are 0. Where it has -infinity for a masked key, figures want NaN: a number that is not drawn.
std::vector<double> scores_of(const DrawnLayer& drawn, reference::ScoreStage stage, std::int64_t head) {
  const LayerPlan& layer = drawn.layer;
  const auto numbers = [](std::int64_t rows, std::int64_t heads, std::int64_t channels) {
    return std::vector<double>(static_cast<std::size_t>(rows * heads * channels));
  };
  std::vector<double> q = drawn.q.empty() ? numbers(drawn.queries, layer.heads, layer.head_dim) : drawn.q;
  std::vector<double> k = drawn.k.empty() ? numbers(drawn.keys, layer.kv_heads, layer.head_dim) : drawn.k;
  std::vector<double> v = numbers(drawn.keys, layer.kv_heads, layer.value_dim);
  std::vector<double> out = numbers(drawn.queries, layer.heads, layer.value_dim);
  std::vector<double> scores = numbers(layer.heads, drawn.queries, drawn.keys);
  (void)reference::attend(layer, {.out = tensor(out.data(), {drawn.queries, layer.heads, layer.value_dim}),
                                  .q = tensor(q.data(), {drawn.queries, layer.heads, layer.head_dim}),
                                  .k = tensor(k.data(), {drawn.keys, layer.kv_heads, layer.head_dim}),
                                  .v = tensor(v.data(), {drawn.keys, layer.kv_heads, layer.value_dim}),
                                  .weights = drawn.weights,
                                  .inputs = drawn.inputs,
                                  .scores = tensor(scores.data(), {layer.heads, drawn.queries, drawn.keys}),
                                  .stage = stage});
  const auto first = scores.begin() + head * drawn.queries * drawn.keys;
  std::vector<double> chosen(first, first + drawn.queries * drawn.keys);
  for (double& score : chosen) {
    if (std::isinf(score)) score = std::numeric_limits<double>::quiet_NaN();
  }
  return chosen;
}

}  // namespace posenc::tool
