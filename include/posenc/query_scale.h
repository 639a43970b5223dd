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
#pragma once

#include <cstdint>

#include "posenc/export.h"
#include "posenc/schemes.h"

namespace posenc::inline v0_2 {

// tau_i; 1 without a scale. Throws Error for a position below 0 and for a scheme whose formula is not defined.
POSENC_API double query_scale(const QueryScale& scheme, std::int64_t position);

}  // namespace posenc::inline v0_2
