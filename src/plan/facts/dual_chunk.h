// Dual chunk attention by the numbers of Qwen's dual_chunk_attention_config.
#pragma once

#include <algorithm>
#include <cstdint>

#include "posenc/schemes.h"

namespace posenc::plan {

// With s = chunk_size - local_size tokens a chunk, vLLM has keys at j mod s, queries at i mod s for keys of their own
// chunk, at min(s + i mod s, chunk_size) for those of the chunk before, and where the last query of a chunk stands for
// all others. That is the paper's scheme for c = chunk_size + 1, the paper having c - 1 where this, and the authors'
// ChunkLlama, have chunk_size: one query of a chunk more sees the chunk before at its true distance. Where local_size
// is more than half, no query comes as far as chunk_size.
inline DualChunk dual_chunk(std::int64_t chunk_size, std::int64_t local_size) {
  const std::int64_t chunk = chunk_size - local_size;
  const std::int64_t trained = std::min(chunk_size + 1, 2 * chunk);
  return {.chunk = chunk, .local = trained - chunk, .trained = trained};
}

}  // namespace posenc::plan
