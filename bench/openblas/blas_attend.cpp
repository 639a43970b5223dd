// Attention as two calls of sgemm a head and block of queries, with a softmax between them. It materialises the scores
// of a block, which attend does not; keys that no query of the block sees are left out of both products, as in attend.
#include "blas_attend.h"

#include <cblas.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace posenc::bench {
namespace {

// Scores of a block: half a MiB at 1024 keys. 64 and 256 queries were slower.
constexpr std::int64_t kBlock = 128;
// Floats of a register of AVX-512; rows of scores are padded to whole ones.
constexpr std::int64_t kLanes = 16;

using Floats [[gnu::vector_size(4 * kLanes)]] = float;
using Words [[gnu::vector_size(4 * kLanes)]] = std::int32_t;

// exp(x - the largest) of the first `seen` numbers of a row of whole registers, 0 of the others; and their sum. Whole
// registers are written one after another, e^x = 2^n 2^f, 2^f by its series: within 2e-7.
#if defined(__x86_64__)
[[gnu::target_clones("avx512f", "avx2", "default")]]
#endif
float exponentials(float* row, std::int64_t seen, std::int64_t width) {
  // Keys after a row's own query, and the padding: they weigh 2^-126, which no sum notices.
  std::fill(row + seen, row + width, -1e30F);
  Floats most = Floats{} - 1e30F;
  for (std::int64_t j = 0; j < width; j += kLanes) {
    Floats x;
    std::memcpy(&x, row + j, sizeof x);
    most = x > most ? x : most;
  }
  float largest = most[0];
  for (std::int64_t lane = 1; lane < kLanes; ++lane) largest = std::max(largest, most[lane]);
  Floats sums{};
  for (std::int64_t j = 0; j < width; j += kLanes) {
    Floats x;
    std::memcpy(&x, row + j, sizeof x);
    // log2(e): e^x is 2 to this, which is split into a whole number n and f within 1/2 of 0.
    x = (x - largest) * 1.44269504F;
    x = x > -126.0F ? x : Floats{} - 126.0F;
    const Floats shifted = x + 0x1.8p23F;  // n in the lowest bits
    const Floats f = x - (shifted - 0x1.8p23F);
    // ln(2)^k / k! for k from 6 to 0, the series of 2^f.
    Floats y = f * 1.5403530e-4F + 1.3333558e-3F;
    y = y * f + 9.6181291e-3F;
    y = y * f + 5.5504109e-2F;
    y = y * f + 2.4022651e-1F;
    y = y * f + 6.9314718e-1F;
    y = y * f + 1.0F;
    y = reinterpret_cast<Floats>(reinterpret_cast<Words>(y) + (reinterpret_cast<Words>(shifted) << 23));
    sums += y;
    std::memcpy(row + j, &y, sizeof y);
  }
  float sum = 0.0F;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) sum += sums[lane];
  return sum;
}

// The softmax's division, once per output and not per weight: sums are over whole rows by then.
#if defined(__x86_64__)
[[gnu::target_clones("avx512f", "avx2", "default")]]
#endif
void divide(float* row, std::int64_t count, float by) {
  const float factor = 1.0F / by;
  for (std::int64_t c = 0; c < count; ++c) row[c] *= factor;
}

blasint whole(std::int64_t x) { return static_cast<blasint>(x); }

}  // namespace

std::string_view blas_kernels() {
  openblas_set_num_threads(1);
  return openblas_get_corename();
}

void attend_by_blas(const BlasAttend& call) {
  // Room for kBlock rows of all keys, kept from call to call: an engine would not ask for it each time.
  static std::vector<float> scores;
  const std::int64_t d = call.head_dim;
  const std::int64_t padded = (call.keys + kLanes - 1) / kLanes * kLanes;
  scores.resize(static_cast<std::size_t>(kBlock * padded));
  const auto q_row = whole(call.heads * d);
  const auto k_row = whole(call.kv_heads * d);
  for (std::int64_t h = 0; h < call.heads; ++h) {
    // Where in a token's row the KV head of query head h begins.
    const std::int64_t own = h * call.kv_heads / call.heads * d;
    for (std::int64_t first = 0; first < call.queries; first += kBlock) {
      const std::int64_t count = std::min(kBlock, call.queries - first);
      // Keys before the first query of the block; width: row of scores, in floats.
      const std::int64_t before = call.keys - call.queries + first;
      const std::int64_t keys = call.causal ? before + count : call.keys;
      const std::int64_t width = (keys + kLanes - 1) / kLanes * kLanes;
      const float* const q = call.q + first * call.heads * d + h * d;
      float* const out = call.out + first * call.heads * d + h * d;
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, whole(count), whole(keys), whole(d), call.scale, q, q_row,
                  call.k + own, k_row, 0.0F, scores.data(), whole(width));
      float sums[kBlock];
      for (std::int64_t n = 0; n < count; ++n) {
        sums[n] = exponentials(scores.data() + n * width, call.causal ? before + n + 1 : keys, width);
      }
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, whole(count), whole(d), whole(keys), 1.0F, scores.data(),
                  whole(width), call.v + own, k_row, 0.0F, out, q_row);
      for (std::int64_t n = 0; n < count; ++n) divide(out + n * call.heads * d, d, sums[n]);
    }
  }
}

}  // namespace posenc::bench
