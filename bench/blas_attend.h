// What an engine without a fused kernel does: product, softmax, product, on OpenBLAS, head by head over blocks of
// queries, so that the scores of a block stay in the cache. The peer of attend without positions.
//
// Where OpenBLAS is not there, bench/no_openblas stands in for bench/openblas.
#pragma once

#include <cstdint>
#include <string_view>

namespace posenc::bench {

// Tensors [tokens, heads, head_dim] in f32; the last query stands with the last key.
// scale: the softmax scale. causal: query n sees keys up to keys - queries + n. Neither positions nor another mask.
struct BlasAttend {
  const float* q;
  const float* k;
  const float* v;
  float* out;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t head_dim;
  float scale;
  bool causal;
};

// Whose kernels OpenBLAS takes here, "SkylakeX"; nothing where it is not there.
std::string_view blas_kernels();
void attend_by_blas(const BlasAttend& call);  // on one thread; nothing where there is no OpenBLAS

}  // namespace posenc::bench
