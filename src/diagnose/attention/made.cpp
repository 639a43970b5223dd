#include "diagnose/attention/made.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "math/rope/rotation.h"
#include "posenc/reference_attend.h"
#include "reference/elements.h"

namespace posenc::inline v0_2::port {
namespace {

constexpr double kUnseen = -std::numeric_limits<double>::infinity();

ConstTensorView view_of(const std::vector<double>& x, std::size_t tokens, std::size_t heads, std::size_t channels) {
  return tensor(x.data(), {static_cast<std::int64_t>(tokens), static_cast<std::int64_t>(heads),
                           static_cast<std::int64_t>(channels)});
}

// Keys of each head.
std::vector<double> repeated_keys(const DumpedAttention& dumped, const KvHeads& of) {
  std::vector<double> out;
  out.reserve(dumped.keys * dumped.heads * dumped.head_dim);
  for (std::size_t j = 0; j < dumped.keys; ++j) {
    for (std::size_t h = 0; h < dumped.heads; ++h) {
      const double* from = dumped.k.data() + (j * dumped.kv_heads + kv_head_of(of, dumped, h)) * dumped.head_dim;
      out.insert(out.end(), from, from + dumped.head_dim);
    }
  }
  return out;
}

// A layer that sees every key and gives no output that counts.
LayerPlan open_layer(LayerPlan layer) {
  layer.mask = {.kind = MaskKind::bidirectional};
  layer.soft_cap.reset();
  layer.sinks = false;
  layer.value = {};
  layer.value_dim = 1;
  return layer;
}

Scores scores_of(const LayerPlan& layer, const AttentionDumpArgs& args, const DumpedAttention& dumped,
                 const std::vector<double>& k, std::size_t kv_heads, reference::ScoreStage stage,
                 BiasPlaces places = {}) {
  Scores out(dumped.heads * dumped.queries * dumped.keys);
  std::vector<double> nothing(dumped.keys * kv_heads, 0.0);
  std::vector<double> unused(dumped.queries * dumped.heads);
  LayerInputs inputs{.q_order = dumped.q_order, .k_order = dumped.k_order};
  inputs.q_rotated = args.rotated;
  inputs.k_rotated = args.rotated;
  std::vector<std::int64_t> q_places = dumped.q_order;
  std::vector<std::int64_t> k_places = dumped.k_order;
  if (places.times != 1 || places.plus != 0) {
    for (std::int64_t& place : q_places) place = places.times * (place + places.plus);
    for (std::int64_t& place : k_places) place *= places.times;
    inputs.q_positions = Positions(std::span<const std::int64_t>(q_places));
    inputs.k_positions = Positions(std::span<const std::int64_t>(k_places));
  }
  LayerWeights weights = args.learned;
  weights.sinks = {};
  weights.value = {};
  const auto heads = static_cast<std::int64_t>(dumped.heads);
  const auto queries = static_cast<std::int64_t>(dumped.queries);
  const auto keys = static_cast<std::int64_t>(dumped.keys);
  (void)reference::attend(layer, {.out = tensor(unused.data(), {queries, heads, 1}),
                                  .q = view_of(dumped.q, dumped.queries, dumped.heads, dumped.head_dim),
                                  .k = view_of(k, dumped.keys, kv_heads, dumped.head_dim),
                                  .v = view_of(nothing, dumped.keys, kv_heads, 1),
                                  .weights = weights,
                                  .inputs = inputs,
                                  .scores = tensor(out.data(), {heads, queries, keys}),
                                  .stage = stage});
  return out;
}

}  // namespace

KvHeads in_turn(const DumpedAttention& dumped) {
  KvHeads out(dumped.heads);
  for (std::size_t h = 0; h < dumped.heads; ++h) out[h] = h % dumped.kv_heads;
  return out;
}

Scores content_scores(const LayerPlan& layer, const AttentionDumpArgs& args, const DumpedAttention& dumped,
                      const KvHeads& of) {
  LayerPlan open = open_layer(layer);
  if (of.empty()) {
    return scores_of(open, args, dumped, dumped.k, dumped.kv_heads, reference::ScoreStage::content);
  }
  open.kv_heads = layer.heads;
  return scores_of(open, args, dumped, repeated_keys(dumped, of), dumped.heads, reference::ScoreStage::content);
}

Scores bias_scores(const LayerPlan& layer, const AttentionDumpArgs& args, const DumpedAttention& dumped,
                   BiasPlaces places) {
  if (layer.score.empty()) return Scores(dumped.heads * dumped.queries * dumped.keys, 0.0);
  const LayerPlan open = open_layer(layer);
  const auto at = [&](reference::ScoreStage stage) {
    return scores_of(open, args, dumped, dumped.k, dumped.kv_heads, stage, places);
  };
  Scores out = at(reference::ScoreStage::biased);
  const Scores content = at(reference::ScoreStage::content);
  for (std::size_t n = 0; n < out.size(); ++n) out[n] -= content[n];
  return out;
}

Seen seen_keys(const Mask& mask, const AttentionDumpArgs& args, const DumpedAttention& dumped, std::int64_t shift) {
  const LayerPlan layer{.heads = 1, .kv_heads = 1, .head_dim = 1, .value_dim = 1, .mask = mask};
  const std::vector<double> q(dumped.queries, 0.0);
  const std::vector<double> k(dumped.keys, 0.0);
  std::vector<double> out(dumped.queries);
  Scores scores(dumped.queries * dumped.keys);
  std::vector<std::int64_t> order = dumped.q_order;
  for (std::int64_t& place : order) place += shift;
  const auto queries = static_cast<std::int64_t>(dumped.queries);
  const auto keys = static_cast<std::int64_t>(dumped.keys);
  LayerInputs inputs{.q_order = order, .k_order = dumped.k_order};
  if (mask.kind == MaskKind::prefix) inputs.prefix = args.prefix;
  (void)reference::attend(layer, {.out = tensor(out.data(), {queries, 1, 1}),
                                  .q = view_of(q, dumped.queries, 1, 1),
                                  .k = view_of(k, dumped.keys, 1, 1),
                                  .v = view_of(k, dumped.keys, 1, 1),
                                  .inputs = inputs,
                                  .scores = tensor(scores.data(), {1, queries, keys}),
                                  .stage = reference::ScoreStage::biased});
  Seen seen(scores.size());
  for (std::size_t n = 0; n < seen.size(); ++n) {
    seen[n] = scores[n] != kUnseen && (dumped.given.empty() || dumped.given[n] != 0) ? 1 : 0;
  }
  return seen;
}

Scores capped_scores(const Scores& content, const Scores& bias, const std::optional<SoftCap>& cap) {
  Scores out(content.size());
  const auto now = [&](SoftCap::Order order, double x) {
    return cap && cap->order == order ? cap->cap * std::tanh(x / cap->cap) : x;
  };
  for (std::size_t n = 0; n < out.size(); ++n) {
    out[n] = now(SoftCap::Order::after_bias, now(SoftCap::Order::before_bias, content[n]) + bias[n]);
  }
  return out;
}

Scores softmax_weights(const Scores& scores, const Seen& seen, const std::vector<double>& sinks,
                       const DumpedAttention& dumped) {
  Scores out(scores.size(), 0.0);
  for (std::size_t h = 0; h < dumped.heads; ++h) {
    for (std::size_t i = 0; i < dumped.queries; ++i) {
      const std::size_t from = dumped.at(h, i, 0);
      double largest = kUnseen;
      if (!sinks.empty()) largest = sinks[h];
      for (std::size_t j = 0; j < dumped.keys; ++j) {
        if (seen[i * dumped.keys + j] != 0) largest = std::max(largest, scores[from + j]);
      }
      if (largest == kUnseen) continue;
      double sum = sinks.empty() ? 0.0 : std::exp(sinks[h] - largest);
      for (std::size_t j = 0; j < dumped.keys; ++j) {
        if (seen[i * dumped.keys + j] == 0) continue;
        out[from + j] = std::exp(scores[from + j] - largest);
        sum += out[from + j];
      }
      for (std::size_t j = 0; j < dumped.keys; ++j) out[from + j] /= sum;
    }
  }
  return out;
}

std::vector<double> summed_values(const Scores& weights, const std::vector<double>& v, const KvHeads& of,
                                  const DumpedAttention& dumped) {
  std::vector<double> out(dumped.queries * dumped.heads * dumped.value_dim, 0.0);
  for (std::size_t h = 0; h < dumped.heads; ++h) {
    const std::size_t kv = kv_head_of(of, dumped, h);
    for (std::size_t i = 0; i < dumped.queries; ++i) {
      double* const to = out.data() + (i * dumped.heads + h) * dumped.value_dim;
      for (std::size_t j = 0; j < dumped.keys; ++j) {
        const double weight = weights[dumped.at(h, i, j)];
        if (weight == 0) continue;
        const double* const from = v.data() + (j * dumped.kv_heads + kv) * dumped.value_dim;
        for (std::size_t c = 0; c < dumped.value_dim; ++c) to[c] += weight * from[c];
      }
    }
  }
  return out;
}

std::optional<std::vector<double>> rotated_values(const LayerPlan& layer, const DumpedAttention& dumped) {
  for (const Rotate& rotate : layer.rotate) {
    if (rotate.role != RotateRole::main) continue;
    const Rope& of = rope(rotate);
    if (of.head_dim != layer.value_dim || of.axes.names.size() > 1 || check(of)) continue;
    const Frequencies f = frequencies(of);
    std::vector<double> out = dumped.v;
    for (std::size_t j = 0; j < dumped.keys; ++j) {
      for (std::size_t h = 0; h < dumped.kv_heads; ++h) {
        double* const head = out.data() + (j * dumped.kv_heads + h) * dumped.value_dim;
        for (std::size_t p = 0; p < f.inv_freq.size(); ++p) {
          const auto first = static_cast<std::size_t>(of.first_channel);
          const std::size_t a = first + (of.pairing == Pairing::half ? p : 2 * p);
          const std::size_t b = of.pairing == Pairing::half ? a + f.inv_freq.size() : a + 1;
          const double angle = static_cast<double>(dumped.k_order[j]) * f.inv_freq[p];
          const double c = f.attention_factor * std::cos(angle);
          const double s = f.attention_factor * std::sin(angle);
          const double x = head[a];
          head[a] = x * c - head[b] * s;
          head[b] = head[b] * c + x * s;
        }
      }
    }
    return out;
  }
  return {};
}

}  // namespace posenc::inline v0_2::port
