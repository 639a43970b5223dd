// Attention with every position scheme: one fused pass over tiles of keys, with an online softmax; the attention matrix
// QK^T is never materialised. FlashAttention, arXiv 2205.14135.
//
// The equation is that of reference_attend.h, the float64 reference; a layer's schemes are lowered to a few primitives
// (docs/architecture.md). Kernels: src/kernels/score_loop.h (prefill) and src/kernels/decode_loop.h (decode).
//
// Products and sums are in f32, whatever the dtypes of the tensors, unless the caller allows products of bfloat16; each
// element of the output is rounded once. The result of a query does not depend on the number of threads, nor on queries
// that come after it in a causal layer.
//
// Thread safety: calls that write to different tensors may run at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "posenc/attention.h"
#include "posenc/cache/quantised.h"
#include "posenc/export.h"
#include "posenc/info.h"
#include "posenc/parallel.h"
#include "posenc/plan.h"
#include "posenc/rotary_table.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2 {

// Tiles of scores (keys by lanes of queries) that a call computed, and those that it skipped: hidden by the attention
// mask, or so far away under ALiBi that all of them together weigh less than 2^-25 of what the query has seen.
struct AttendWork {
  std::int64_t tiles = 0;
  std::int64_t skipped = 0;
  bool operator==(const AttendWork&) const = default;
};

// A paged KV cache (vLLM's PagedAttention, arXiv 2309.06180) of [blocks, block_size, kv_heads, channels]: token n of
// sequence s stands in block block_table[s][n / block_size] at n % block_size. With them come LayerInputs::cu_seqlens_q
// and cu_seqlens_k, and q of rank 3.
struct AttendPages {
  std::span<const std::int32_t>
      block_table{};  // [sequences, blocks of one sequence]; -1: a hole, where no token may be
};

// The type in which QK^T and PV are multiplied: f32, of the tensors' elements as they are, rotated and scaled; or
// bfloat16, to which these and the softmax's weights are rounded first, where that is faster and the machine can
// (docs/attention.md says what it costs). Exact products of bfloat16, of queries and keys that are stored so and are
// not rotated on load, are always permitted.
enum class Products : std::uint8_t { f32, bf16 };
POSENC_API std::string_view name(Products products) noexcept;

// Tensors may have any strides, but the channels of q, k, v and out are adjacent. Each has its own dtype, f32, f16 or
// bf16.
struct AttendArgs {
  TensorView out{};     // written: [tokens, heads, value_dim] or [batch, heads, tokens, value_dim]
  ConstTensorView q{};  // [tokens, heads, head_dim] or [batch, heads, tokens, head_dim]
  ConstTensorView k{};  // likewise with kv_heads and tokens of its own; or a paged cache
  ConstTensorView v{};
  ConstQuantisedView k_quantised{};  // instead of k: read as it is, and rotated on load where keys are not k_rotated
  ConstQuantisedView v_quantised{};  // instead of v
  AttendPages pages{};
  LayerWeights weights{};
  LayerInputs inputs{};
  // The log-sum-exp of the scores, without the sink; -inf for a query that sees no key, whose output is 0.
  TensorView lse{};  // written: f32 [tokens, heads] or [batch, heads, tokens]; may be omitted
  // Where k and v are a part of the keys (merge below), of schemes that sum along the keys (CoPE's gates, forget
  // gates): what the keys after the part have added up to for each query; then, with what these add. Like lse, and of a
  // layer with both [2, ..], in the order of its schemes; left out: none come after.
  TensorView carry{};  // read and written
  Angles angles = Angles::exact;
  Products products = Products::f32;
  Parallel parallel{};
  Isa isa = Isa::automatic;
  AttendWork* work = nullptr;  // written, where it is given
  // Working memory of the threads: at least attend_scratch_bytes(), which need not be aligned. Omitted: the heap, once
  // a thread. Before the pass a call takes from the heap, too: some numbers for each token, cos and sin of tokens that
  // several heads rotate, where they take no more than 16 MiB, lists of what there is to do, floats of the scheme's
  // tables or for each distance that occurs, and at decode (few queries) what each 1024 keys have added up to,
  // value_dim + 3 floats a query and head. The pass takes nothing.
  std::span<std::byte> scratch{};
  // A callback, called every millisecond or so by one thread at a time: false cancels the call.
  std::function<bool()> keep_going{};
};

// Throws Error, before anything is written, for a tensor, a weight or an input that does not fit the layer, that it
// needs and is omitted, or that it has no place for; and where a table by distance cannot hold what occurs: distances
// that are not whole, or too far apart.
//
// False where keep_going returned false: out, lse and carry then hold nothing of use.
[[nodiscard]] POSENC_API bool attend(const LayerPlan& layer, const AttendArgs& args);

// How many bytes of AttendArgs::scratch the call needs, with the threads that args.parallel allows: what a thread needs
// follows from the widths of a head and of the scheme's vectors, not from the lengths. Throws as attend does.
POSENC_API std::int64_t attend_scratch_bytes(const LayerPlan& layer, const AttendArgs& args);

// What attend made of a part of the keys.
struct AttendPart {
  ConstTensorView out{};  // as AttendArgs::out
  ConstTensorView lse{};  // as AttendArgs::lse
};

// Results for the same queries over parts of the keys, on other machines for instance, as that over all of them. A part
// is a call with the part's keys, values and k_order, and with q_order; of a layer without sinks, which count once,
// here. Where a scheme sums along the keys, parts are computed from the last to the first, and carry goes from call to
// call.
struct MergeArgs {
  TensorView out{};  // written; may be that of a part
  TensorView lse{};  // written, without the sinks; may be that of a part, or omitted
  std::span<const AttendPart> parts{};
  ConstTensorView sinks{};  // [heads], or omitted
};

// Throws Error, before anything is written, for tensors that do not fit each other.
POSENC_API void merge(const MergeArgs& args);

}  // namespace posenc::inline v0_2
