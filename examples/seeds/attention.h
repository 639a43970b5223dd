// One call of posenc's float64 reference of attention, with what the texts' formulas need of it.
#pragma once

#include <posenc/plan.h>
#include <posenc/reference.h>
#include <posenc/reference_attend.h>

#include "numbers.h"

namespace seeds {

using posenc::Pairing;

inline posenc::Rope rope_of(Pairing pairing, std::int64_t dim) {
  return {.pairing = pairing, .head_dim = dim, .dim = dim};
}

// position * inv_freq, a pair each.
inline Numbers angles(const posenc::Rope& rope, double position) {
  return scaled(posenc::frequencies(rope).inv_freq, position);
}

// x rotated to a position, by the form that the pairing is known for.
inline Numbers rotated(const posenc::Rope& rope, const Numbers& x, double position) {
  const posenc::RotaryLayout layout = posenc::layout(rope);
  return rope.pairing == Pairing::half ? posenc::reference::rotate_half(layout, x, angles(rope, position))
                                       : posenc::reference::rotate_pairwise(layout, x, angles(rope, position));
}

inline posenc::Mask mask(posenc::MaskKind kind) { return {.kind = kind}; }

// A layer without positions whose queries see all keys.
inline posenc::LayerPlan layer_of(std::int64_t heads, std::int64_t head_dim, double softmax_scale) {
  return {.heads = heads,
          .kv_heads = heads,
          .head_dim = head_dim,
          .value_dim = head_dim,
          .softmax_scale = softmax_scale,
          .mask = mask(posenc::MaskKind::bidirectional)};
}

struct Attended {
  Numbers out;     // [tokens, heads * head_dim]
  Numbers scores;  // [heads, tokens, tokens]
};

// q, k and v: [tokens, heads * head_dim].
inline Attended attend(const posenc::LayerPlan& layer, const Numbers& q, const Numbers& k, const Numbers& v,
                       posenc::reference::ScoreStage stage = posenc::reference::ScoreStage::weights,
                       posenc::LayerWeights weights = {}, posenc::LayerInputs inputs = {}) {
  const std::int64_t width = layer.heads * layer.head_dim;
  const std::int64_t queries = std::ssize(q) / width;
  const std::int64_t keys = std::ssize(k) / width;
  Attended result{.out = Numbers(q.size()), .scores = Numbers(static_cast<std::size_t>(layer.heads * queries * keys))};
  (void)posenc::reference::attend(layer,
                                  {.out = posenc::tensor(result.out.data(), {queries, layer.heads, layer.head_dim}),
                                   .q = posenc::tensor(q.data(), {queries, layer.heads, layer.head_dim}),
                                   .k = posenc::tensor(k.data(), {keys, layer.heads, layer.head_dim}),
                                   .v = posenc::tensor(v.data(), {keys, layer.heads, layer.head_dim}),
                                   .weights = std::move(weights),
                                   .inputs = inputs,
                                   .scores = posenc::tensor(result.scores.data(), {layer.heads, queries, keys}),
                                   .stage = stage});
  return result;
}

// The input stage: what a scheme makes of embeddings [tokens, channels].
template <typename Scheme, typename... Weights>
Numbers with_input(const Scheme& scheme, const Numbers& x, std::int64_t channels, const Weights&... weights) {
  Numbers out(x.size());
  const std::int64_t tokens = std::ssize(x) / channels;
  posenc::reference::add_input(
      scheme, weights...,
      {.out = posenc::tensor(out.data(), {tokens, channels}), .x = posenc::tensor(x.data(), {tokens, channels})});
  return out;
}

}  // namespace seeds
