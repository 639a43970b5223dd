// Rows of keys and values on their way into a KV cache: QK norm, RoPE, conversion, store. One of these serves one
// thread.
#pragma once

#include <cstdint>

#include "cpu/attend/scratch.h"
#include "cpu/cache/check_cache.h"
#include "cpu/cache/row_heads.h"
#include "kernels/kernels.h"
#include "posenc/cache.h"

namespace posenc::cpu {

class CacheRows {
 public:
  CacheRows(const CacheArgs& args, const CacheCall& call, const kernels::KernelTable& kernels);

  // Whether one takes memory from the heap: norms over more channels than those of any known model.
  static bool allocates(const CacheArgs& args, const CacheCall& call) noexcept;

  // Row `row` of the call into its slot. `cos`: [pairs], its sin after it; null where nothing rotates. Keys whose
  // scales are by channel stay floats, in row `row` of `grouped`.
  void store(std::int64_t row, const float* const* cos, float* grouped = nullptr);

 private:
  // Floats of scratch on the stack, for the heads and for the weights each; more comes from the heap.
  static constexpr std::int64_t kValues = 8192;  // 32 KiB: 64 heads of 128

  // All heads of one key, from k to its slot in the cache.
  void store_keys(const void* from, std::int64_t slot, const float* const* cos, float* grouped);
  void store_values(const void* from, std::int64_t slot);
  void rotate_straight(const void* from, void* to, const float* const* cos) const;
  void normalise(std::int64_t first_head, std::int64_t heads);

  const CacheArgs& args_;
  const CacheCall& call_;
  const kernels::KernelTable& kernels_;
  bool straight_;  // from the dtype of k into its own, without a norm
  std::int64_t heads_at_once_;
  Scratch<float, kValues> heads_;    // [heads_at_once_, head_dim]
  Scratch<float, kValues> weights_;  // the norm's weights, then its biases
  // [head_dim], or [heads * head_dim]; f32 weights of the caller, or those in weights_. Null: there is none.
  const float* weight_ = nullptr;
  const float* bias_ = nullptr;
};

}  // namespace posenc::cpu
