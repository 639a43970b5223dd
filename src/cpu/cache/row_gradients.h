// Rows of gradients on their way back from a KV cache: the transposes of rotation and norm, and sums for the norm's
// weight and bias. One of these serves one thread.
#pragma once

#include <cstdint>

#include "cpu/attend/scratch.h"
#include "cpu/cache/check_cache.h"
#include "cpu/cache/row_heads.h"
#include "kernels/kernels.h"
#include "posenc/cache/backward.h"

namespace posenc::cpu {

// A call of rotate_into_cache_backward, checked. The gradients of the cache stand where rotate_into_cache has its
// caches, d_v where it has v.
struct CacheBackwardCall {
  const CacheBackwardArgs& args;
  const CacheCall& cache;
  HeadsView d_k;  // `to` is null where it is not asked for
  HeadsView d_v;

  bool asks_of_norm() const { return !args.d_norm_weight.empty() || !args.d_norm_bias.empty(); }
  bool reads_keys() const { return d_k.to != nullptr || (asks_of_norm() && cache.k_cache.from != nullptr); }
};

class RowGradients {
 public:
  static constexpr std::int64_t kTokens = 64;  // whose shares of a weight are added up in f32

  RowGradients(const CacheBackwardCall& call, const kernels::KernelTable& kernels);

  // Whether one takes memory from the heap: norms over more channels than those of any known model.
  static bool allocates(const CacheBackwardCall& call) noexcept;

  // Rows row .. row + count - 1 of the call, at most kTokens. `cos`: of each its [pairs], sin after them; null where
  // nothing rotates. Adds to sums of the norm's weight and bias, each as large as the weight; null: not asked for.
  void pass_back(std::int64_t row, std::int64_t count, const float* const* cos, double* d_weight, double* d_bias);

 private:
  static constexpr std::int64_t kValues = 8192;  // floats on the stack, 32 KiB: 64 heads of 128

  void pass_keys(std::int64_t row, std::int64_t count, const float* const* cos, double* d_weight, double* d_bias);
  void pass_key(std::int64_t row, const float* const* cos, std::int64_t first_head, std::int64_t heads, bool sums);
  void pass_values(std::int64_t row, std::int64_t count);
  void add_up(const float* of_heads, std::int64_t first_head, std::int64_t heads, double* sums) const;

  const CacheBackwardCall& call_;
  const kernels::KernelTable& kernels_;
  std::int64_t head_dim_;
  std::int64_t heads_at_once_;
  Scratch<float, kValues> d_;         // [heads_at_once_, head_dim]: of the results, then of the keys
  Scratch<float, kValues> keys_;      // likewise the keys, where there is a norm
  Scratch<float, 2 * kValues> sums_;  // likewise of weights, then of biases
  Scratch<float, kValues> weights_;   // the norm's weights
  const float* weight_ = nullptr;     // f32 weights of the caller, or those in weights_; null: there is none
};

}  // namespace posenc::cpu
