// The backward pass of rotate_into_cache (cache.h): from what a loss gives of the stored keys and values to what it
// gives of k, v and the weight and bias of the keys' norm. Of queries too, which have the same norms: k is q then.
//
//   k_cache[slot_t] = R(t) norm(k_t):   dk_t = norm'(k_t)^T R(t)^T dk_cache[slot_t],   dv_t = dv_cache[slot_t]
//   k_cache[slot_t] = norm(R(t) k_t):   dk_t = R(t)^T norm'(R(t) k_t)^T dk_cache[slot_t]
//
// With m = mean(x) for `layer`, else 0, f = 1 / sqrt(sum((x - m)^2) / n + epsilon), n the channels, or 1 for l2, and
// x' = f (x - m), what comes back through y = x' weight + bias is
//
//   dweight = dy x'      dbias = dy      dx = f (g - x' sum(g x') / n),   g = dy weight, less its mean for `layer`
//
// Nothing of the forward pass is kept: norms are made again of k. A row of d_k depends on its token and the instruction
// set alone, in f32, rounded once. The sum over tokens of d_norm_weight and d_norm_bias is in f32 over up to 64 of
// them, one after another, for each head; from there on, over heads too, in double, rounded once: always in one order,
// the same to the bit for any number of threads.
//
// The float64 reference: reference::normalise_backward (reference_backward.h) and reference::rotate. Kernels:
// src/kernels/norm_loop.h, rotate_loop.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "posenc/cache.h"
#include "posenc/export.h"
#include "posenc/info.h"
#include "posenc/parallel.h"
#include "posenc/rotary_table.h"
#include "posenc/rotate.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2 {

// Channels of a head are adjacent in all of them. Of f32, f16 and bf16 each tensor may have its own.
struct CacheBackwardArgs {
  // dL / d k_cache and dL / d v_cache, of their shapes: what stands in no slot is not read. Codes have no derivative:
  // of a quantised cache give the gradient of the keys that it stands for.
  ConstTensorView d_k_cache{};
  ConstTensorView d_v_cache{};  // omitted together with d_v
  // As rotate_into_cache was given them.
  ConstTensorView k{};
  Positions positions{};
  const RotaryTable* table = nullptr;
  std::optional<KeyNorm> norm{};
  std::span<const std::int64_t> slots{};
  std::span<const std::int32_t> cu_seqlens{};
  std::span<const RotaryTable* const> tables{};

  // Written; each may be omitted. A token whose slot is -1 has gradients of 0.
  TensorView d_k{};  // of the shape of k
  TensorView d_v{};  // of that of v
  // Of the shapes of norm.weight and norm.bias, elements adjacent; of f64 too. weight_plus_one changes nothing of them.
  TensorView d_norm_weight{};
  TensorView d_norm_bias{};

  Parallel parallel{};  // a call on few bytes stays on its thread
  Isa isa = Isa::automatic;
  std::function<bool()> keep_going{};  // as in RotateArgs
};

// Throws Error, before anything is written, for what rotate_into_cache refuses, and for gradients that do not fit or
// share memory. False where keep_going returned false: what is written holds nothing of use then. Of a norm's gradients
// at most 256 sums of the size of its weight are kept, in double.
[[nodiscard]] POSENC_API bool rotate_into_cache_backward(const CacheBackwardArgs& args);

}  // namespace posenc::inline v0_2
