// What somebody's attention did: its queries, keys, values, scores and output, held against what a layer's plan says.
//
//   const AttentionDiagnosis d = diagnose_attention({.q = q, .k = k, .v = v, .out = out, .layer = &layer});
//   if (d.verdict != PortVerdict::as_the_plan) report(describe(d));
//
// The stages of reference_attend.h are looked at in their order, as far as they were dumped: scores, which the softmax
// is of; weights, which it makes; the output. Each is judged by what the port itself had before it, so that what went
// wrong early is not blamed on what comes after, and the first stage that differs is named. What explains a stage is
// the plan, or the plan with one thing changed; all of it in double, scores and biases by the float64 reference.
//
// Thread safety: a function of its arguments, on the caller's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/attention.h"
#include "posenc/diagnose.h"
#include "posenc/export.h"
#include "posenc/plan.h"
#include "posenc/tensor.h"

namespace posenc::inline v0_2 {

enum class AttentionStage : std::uint8_t { scores, weights, out };

struct AttentionDumpArgs {
  ConstTensorView q{};  // [tokens, heads, head_dim] or [batch, heads, tokens, head_dim], of any dtype
  ConstTensorView k{};  // likewise with tokens of its own and kv_heads, or heads, which are KV heads repeated
  ConstTensorView v{};  // likewise with value_dim; may be omitted where `out` is
  // One of the three at least. Scores may hold the mask, as -inf or as numbers below -10000, or not.
  ConstTensorView scores{};   // [heads, queries, keys] or [batch, heads, queries, keys]: what the softmax is of
  ConstTensorView weights{};  // likewise: what it makes
  ConstTensorView out{};      // like q, with value_dim
  const LayerPlan* layer = nullptr;
  const Plan* plan = nullptr;  // whose other layers' windows a port may have taken; may be omitted
  LayerWeights learned{};      // the layer's tables and sinks, where it has any
  bool rotated = true;         // q and k are rotated; else the reference rotates them, by their order
  // Where tokens stand in their sequence. Omitted: keys are counted from 0, and the last query stands with the last
  // key.
  std::span<const std::int64_t> q_order{};  // [queries]
  std::span<const std::int64_t> k_order{};  // [keys]
  ConstTensorView attn_mask{};              // not 0: seen, besides the plan's mask, [queries, keys]
  std::int64_t prefix = 0;                  // MaskKind::prefix: tokens that all may see
  std::int64_t sequence = 0;                // which of the batch is looked at
};

struct AttentionDiagnosis {
  PortVerdict verdict = PortVerdict::cannot_tell;
  std::optional<AttentionStage> stage{};  // the first that is other than the plan says
  double unexplained = 0.0;               // of that stage, or of the last one; as in PortFinding
  double allowed = 0.0;                   // by rounding of what was dumped; as `unexplained`
  std::int64_t queries = 0;               // that were looked at
  std::int64_t keys = 0;
  std::int64_t heads = 0;
  std::vector<PortFinding> findings;   // tokens: queries in which it is seen; channels: 0
  std::vector<PortFinding> confirmed;  // what was tried otherwise, and would be seen
  std::vector<std::string> undecided;  // what would look the same, a sentence each
  std::string dump;                    // what to dump to decide it
  bool operator==(const AttentionDiagnosis&) const = default;
};

// Of long calls some queries are looked at, the last one among them. Throws Error for tensors that do not fit each
// other or the layer, for a layer without products of queries and keys, for tables that it needs and are omitted, and
// for a NaN.
POSENC_API AttentionDiagnosis diagnose_attention(const AttentionDumpArgs& args);

// Whether numbers, [.., keys], are what a softmax makes: from 0 to 1, and no row of much more than 1 in all. For
// whoever has `scores` or `weights` and does not know which.
POSENC_API bool are_weights(const ConstTensorView& numbers);

POSENC_API std::string_view name(AttentionStage stage) noexcept;

// As those of a Diagnosis; JSON has "stage", "allowed", "queries" and "keys" in place of what a rotation has.
POSENC_API std::string describe(const AttentionDiagnosis& diagnosis);
POSENC_API std::string to_json(const AttentionDiagnosis& diagnosis);

}  // namespace posenc::inline v0_2
