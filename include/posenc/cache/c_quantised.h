// Quantised KV caches in C, by the conventions of c.h, which includes this.
#ifndef POSENC_C_QUANTISED_H
#define POSENC_C_QUANTISED_H
// NOLINTBEGIN(readability-identifier-naming): C has its own style

#include "posenc/c.h"

#ifdef __cplusplus
extern "C" {
#endif

// CacheFormat in cache/quantised.h, in its order.
typedef int32_t posenc_cache_format;
enum {
  POSENC_INT8 = 0,
  POSENC_INT8_ASYMMETRIC,
  POSENC_INT4,
  POSENC_INT4_ASYMMETRIC,
  POSENC_FP8_E4M3,
  POSENC_FP8_E5M2,
  POSENC_Q8_0,
  POSENC_Q4_0,
  POSENC_Q5_1,
  POSENC_INT4_BY_CHANNEL
};

// A quantised cache: QuantisedView in cache/quantised.h, which says shapes and meaning.
struct posenc_quantised {
  posenc_cache_format format;
  int32_t rank;  // 3 or 4
  void* data;
  int64_t shape[4];    // of the numbers
  int64_t strides[4];  // in bytes
  posenc_tensor scales;
  posenc_tensor zeros;
  double scale;   // fp8 without scales; 0: 1
  int64_t group;  // POSENC_INT4_BY_CHANNEL: tokens
};

// Of one head's row, written to `bytes`.
POSENC_API posenc_status posenc_cache_row_bytes(posenc_cache_format format, int64_t channels, int64_t* bytes);
// The numbers of x, to f32 of its shape; `paged`, not 0: rank 4 has pages, not a batch.
POSENC_API posenc_status posenc_dequantise(const posenc_tensor* out, const posenc_quantised* x, int32_t paged);

#ifdef __cplusplus
}
#endif

// NOLINTEND(readability-identifier-naming)
#endif  // POSENC_C_QUANTISED_H
