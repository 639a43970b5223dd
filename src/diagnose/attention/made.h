// What attention makes of a dump by the plan and by others: scores and biases by the float64 reference, every key seen;
// then mask, soft cap, softmax and the sum over values, whose parts hypotheses exchange.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "diagnose/attention/dumped.h"

namespace posenc::inline v0_2::port {

// The KV head that each head has, [heads]; empty: that of its group.
using KvHeads = std::vector<std::size_t>;
KvHeads in_turn(const DumpedAttention& dumped);  // h mod kv_heads of head h
inline std::size_t kv_head_of(const KvHeads& of, const DumpedAttention& dumped, std::size_t h) {
  return of.empty() ? h / std::max<std::size_t>(1, dumped.heads / dumped.kv_heads) : of[h];
}

// [heads, queries, keys]
using Scores = std::vector<double>;
using Seen = std::vector<char>;  // [queries, keys]

// The stage `content`: scale tau (q . k + content terms).
Scores content_scores(const LayerPlan& layer, const AttentionDumpArgs& args, const DumpedAttention& dumped,
                      const KvHeads& of = {});

// The sum of bias terms of the layer, at positions times `times`, queries' `plus` more.
struct BiasPlaces {
  std::int64_t times = 1;
  std::int64_t plus = 0;
};
Scores bias_scores(const LayerPlan& layer, const AttentionDumpArgs& args, const DumpedAttention& dumped,
                   BiasPlaces places = {});
// Which keys a mask shows; `shift`: added to the queries' order.
Seen seen_keys(const Mask& mask, const AttentionDumpArgs& args, const DumpedAttention& dumped, std::int64_t shift = 0);

// z = cap tanh(.. / cap) of content and bias, in the cap's order.
Scores capped_scores(const Scores& content, const Scores& bias, const std::optional<SoftCap>& cap);

// Of the keys that are seen; a row that sees none is 0. `sinks`: [heads] or empty.
Scores softmax_weights(const Scores& scores, const Seen& seen, const std::vector<double>& sinks,
                       const DumpedAttention& dumped);

// [queries, heads, value_dim]
std::vector<double> summed_values(const Scores& weights, const std::vector<double>& v, const KvHeads& of,
                                  const DumpedAttention& dumped);

// Values rotated by their keys' order, as keys are; nothing where the layer has no rope as wide.
std::optional<std::vector<double>> rotated_values(const LayerPlan& layer, const DumpedAttention& dumped);

}  // namespace posenc::inline v0_2::port
