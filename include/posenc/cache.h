// Writing keys and values to the KV cache, contiguous or paged: QK norm, RoPE, conversion to the cache's dtype and
// store in one pass over memory.
//
//   k_cache[slot_t] = R(t) norm(k_t)   or   norm(R(t) k_t),   v_cache[slot_t] = v_t
//
// What an engine does for every new token of every layer (vLLM's reshape_and_cache, with RoPE and the norm fused in).
// Sums are in f32, and each element is rounded to the cache's dtype, or to its code, once, to nearest, ties to even;
// keys that are neither rotated nor normalised, and values, keep their bits where the dtypes are the same. The result
// of a row depends on that row, its angles and the instruction set alone.
//
// The float64 reference: reference::normalise and reference::rotate (reference.h). Kernels: src/kernels/norm_loop.h,
// rotate_loop.h and convert_loop.h. How engines use it: docs/cache.md.
//
// Thread safety: calls that write different rows may run at the same time, of one cache and with one table too.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "posenc/cache/quantised.h"
#include "posenc/export.h"
#include "posenc/info.h"
#include "posenc/parallel.h"
#include "posenc/plan.h"
#include "posenc/rotary_table.h"
#include "posenc/rotate.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2 {

// The norm of the keys, as a plan says it (LayerPlan::qk_norm), with what the model's weights give it.
//
//   rms:   x / sqrt(mean(x^2) + epsilon) * weight                          arXiv 1910.07467
//   l2:    x / sqrt(sum(x^2) + epsilon) * weight
//   layer: (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * weight + bias      arXiv 1607.06450
//
// Means and sums are over a head, or over all heads of a token, as scheme.over says. Squares are summed in f32: keys
// beyond 1.8e19 have an infinite sum and become 0, as they do in the frameworks.
struct KeyNorm {
  QkNorm scheme{};
  double epsilon = 1e-6;  // at least 0
  // f32, f16 or bf16, elements adjacent: [head_dim] for all heads (where scheme.over is `head`), [heads * head_dim] or
  // [heads, head_dim]. Given if and only if scheme.weighted.
  ConstTensorView weight{};
  ConstTensorView bias{};        // of `layer` with a weight, as large as it; omitted: 0
  bool weight_plus_one = false;  // the weight is what is stored and 1 (Gemma's files)
};

// Channels of a head are adjacent in all of them. Of f32, f16 and bf16 each tensor may have its own.
struct CacheArgs {
  ConstTensorView k{};  // [tokens, heads, head_dim] or [batch, heads, tokens, head_dim]
  ConstTensorView v{};  // likewise with heads and channels of its own; omitted together with its cache
  Positions positions{};
  const RotaryTable* table = nullptr;  // without one, and without tables, keys are not rotated and positions not read
  std::optional<KeyNorm> norm{};

  // Written. Contiguous: [rows, heads, head_dim]. Paged: [blocks, block_size, heads, head_dim].
  TensorView k_cache{};
  TensorView v_cache{};  // as many rows, or blocks of one size, as k_cache
  // Written instead of k_cache or v_cache: codes, with their scales and zeros. Keys in int4_by_channel are stored in
  // whole groups, since their scales are made together: `slots` names every row of a group, one after another.
  QuantisedView k_quantised{};
  QuantisedView v_quantised{};  // of no format by channel
  // The row of the caches for each token of k, tokens of a batch after those of the one before; in paged ones block *
  // block_size + place. -1: the token is not stored. No row twice.
  std::span<const std::int64_t> slots{};

  std::span<const std::int32_t> cu_seqlens{};    // packed sequences, for positions that are counted and for tables
  std::span<const RotaryTable* const> tables{};  // one for each sequence, instead of table
  Parallel parallel{};                           // a call on few bytes stays on its thread
  Isa isa = Isa::automatic;
  std::function<bool()> keep_going{};  // as in RotateArgs
};

// Throws Error, before anything is written, for a tensor, a norm, a position, a table or a slot that does not fit, and
// where a cache shares memory with what is read or with the other cache. Calls of up to 256 tokens (more where slots
// follow each other) take nothing from the heap, but for keys in int4_by_channel, which pass through floats. False
// where keep_going returned false: some rows are stored then, others are not.
[[nodiscard]] POSENC_API bool rotate_into_cache(const CacheArgs& args);

}  // namespace posenc::inline v0_2
