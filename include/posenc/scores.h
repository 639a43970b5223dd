// The formulas of scores, one number at a time, in double: biases, scales of queries, and where regions put queries and
// keys to the rotation. distance is i - j: above 0, the key is in the past.
//
// They throw Error for a scheme whose numbers mean nothing (no heads, no buckets).
#pragma once

#include <cstdint>
#include <vector>

#include "posenc/export.h"
#include "posenc/schemes.h"

namespace posenc::inline v0_2 {

// 2^(-max_bias k / n), k from 1 to n heads, for n a power of two. Otherwise those of the next smaller power m, and then
// every other one of 2 m; with geometric_slopes, for any n as for a power of two.
POSENC_API std::vector<double> alibi_slopes(const Alibi& scheme);
// What is added for a query at i and a key at j; `slope` is the head's.
POSENC_API double alibi_bias(const Alibi& scheme, double slope, double i, double j);

// The row of the table, from 0 to buckets - 1: exact for near distances, by the logarithm for far ones. In the float
// steps, with truncation, that checkpoints were trained with: double has other buckets at some edges (32 buckets to
// distance 939: 728 is in 31, in double in 30).
POSENC_API std::int64_t t5_bucket(const T5Bias& scheme, std::int64_t distance);

// The row of the table of relative embeddings, from 0 to 2 span - 1, for content to position and position to content
// alike; span is `buckets`, or max_distance where there are none. Logarithmic beyond half of the buckets, in float
// steps.
POSENC_API std::int64_t deberta_row(const Deberta& scheme, std::int64_t distance);
POSENC_API std::int64_t deberta_span(const Deberta& scheme);

// -r1 ln(1 + r2 |d|), or -r1 |d|^r2. Throws Error for r1 or r2 below 0 or NaN.
POSENC_API double kerple_bias(const Kerple& scheme, double r1, double r2, double distance);

// psi(d) / psi(max(threshold, i)), psi(x) = ln(c x + 1): what FIRE's perceptron is asked about.
POSENC_API double fire_input(double c, double threshold, double distance, double i);

// For head h, from 0.
POSENC_API double sandwich_bias(const Sandwich& scheme, std::int64_t head, double distance);

// What a perceptron of the distance is asked about.
POSENC_API double mlp_input(const MlpBias& scheme, double distance);

// The row of a table over a window: (di + rows - 1) (2 columns - 1) + dj + columns - 1.
POSENC_API std::int64_t grid_row(const GridBias& scheme, std::int64_t row_difference, std::int64_t column_difference);

// The scales of queries that depend on the position: q_i -> tau_i q_i.
//
//   Llama 4      1 + attn_scale ln(1 + floor((i + 1) / floor_scale))
//   Ministral 3  1 + beta ln(1 + floor(i / original_max_position_embeddings))
//   Qwen 1       max(1, ln(i + 1) / ln(seq_length))
//   Beam         (1 + (i + 1) / length)^exponent
//   Inkling      1 + alpha ln(max(1, (i + 1) / floor))
//
// YaRN's and DeepSeek's multiplier of the softmax does not depend on the position: softmax_multiplier (rope.h).
// src/math/score/query_scale.cpp says who disagrees.
//
// tau_i; 1 without a scale. Throws Error for a position below 0 and for a scheme whose formula is not defined.
POSENC_API double query_scale(const QueryScale& scheme, std::int64_t position);

// Where a query and a key stand, to the rotation, when that depends on how far they are apart: SelfExtend, ReRoPE, dual
// chunk attention (schemes.h, Regions; formulas: src/math/score/regions.cpp).
struct Standing {
  double query;
  double key;
};

// For a query at i and a key at j. Keys in the future (j > i) are taken as near ones.
POSENC_API Standing standing(const Regions& regions, double i, double j);

}  // namespace posenc::inline v0_2
