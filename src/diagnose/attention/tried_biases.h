// Biases of scores as ports get them wrong: ALiBi's slopes (arXiv 2108.12409), T5's buckets (arXiv 1910.10683).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "diagnose/attention/tried.h"

namespace posenc::inline v0_2::port {

// The plan with another bias each; nothing where the layer has none.
std::vector<AttentionTried> tried_biases(const AttentionDumpArgs& args, const DumpedAttention& dumped,
                                         const AttentionTried& plan);

// A bias with that of head `head(h)` in head h.
template <typename Head>
Scores bias_of_heads(const Scores& bias, const DumpedAttention& dumped, Head head) {
  Scores out(bias.size());
  const std::size_t each = dumped.queries * dumped.keys;
  for (std::size_t h = 0; h < dumped.heads; ++h) {
    std::copy_n(bias.begin() + static_cast<std::ptrdiff_t>(head(h) * each), each,
                out.begin() + static_cast<std::ptrdiff_t>(h * each));
  }
  return out;
}

// T5's bias of a layer that has that alone: of each head the table's number in the bucket of a distance, which queries
// have from keys.
struct T5Table {
  T5Bias of{};
  std::vector<double> table;  // [buckets, heads], times the softmax scale where that is the plan's
  std::size_t heads = 0;
  double at(std::int64_t bucket, std::size_t h) const { return table[static_cast<std::size_t>(bucket) * heads + h]; }
};
std::optional<T5Table> t5_table(const AttentionDumpArgs& args, const DumpedAttention& dumped);

// `bucket(distance)`, i - j.
template <typename Bucket>
Scores by_bucket(const T5Table& table, const DumpedAttention& dumped, Bucket bucket) {
  Scores out(dumped.heads * dumped.queries * dumped.keys);
  for (std::size_t i = 0; i < dumped.queries; ++i) {
    for (std::size_t j = 0; j < dumped.keys; ++j) {
      const std::int64_t of = bucket(dumped.q_order[i] - dumped.k_order[j]);
      for (std::size_t h = 0; h < dumped.heads; ++h) out[dumped.at(h, i, j)] = table.at(of, h);
    }
  }
  return out;
}

}  // namespace posenc::inline v0_2::port
