// What one call of lower() knows, and the overloads that it visits: one for each alternative of each stage's variant,
// so that a scheme without one does not compile.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "cpu/lower/lower.h"
#include "math/call_rows.h"
#include "math/primitives.h"
#include "posenc/attention.h"
#include "posenc/plan.h"

namespace posenc::cpu {

// Overloads read the call's arguments and add to `out`. rows.axes has moved to out.coordinates by the time that they
// run.
struct Lowering {
  const LayerPlan& layer;
  const LayerWeights& weights;
  const LayerInputs& inputs;
  const math::CallSizes& sizes;
  math::CallRows rows;
  math::Lowered out;
  std::optional<DistanceRange> within{};  // instead of the distances that occur
};

void lower_rotations(Lowering& lowering);

// ---- regions ----
void lower_regions(std::monostate, Lowering& lowering);
void lower_regions(const SelfExtend& scheme, Lowering& lowering);
void lower_regions(const ReRope& scheme, Lowering& lowering);
void lower_regions(const DualChunk& scheme, Lowering& lowering);

// ---- score ----
void lower_term(const Alibi& scheme, const ScoreWeights& weights, Lowering& lowering);
void lower_term(const T5Bias& scheme, const ScoreWeights& weights, Lowering& lowering);
void lower_term(const ClippedBias& scheme, const ScoreWeights& weights, Lowering& lowering);
void lower_term(const GridBias& scheme, const ScoreWeights& weights, Lowering& lowering);
void lower_term(const Kerple& scheme, const ScoreWeights& weights, Lowering& lowering);
void lower_term(const Fire& scheme, const ScoreWeights& weights, Lowering& lowering);
void lower_term(const Sandwich& scheme, const ScoreWeights& weights, Lowering& lowering);
void lower_term(const MlpBias& scheme, const ScoreWeights& weights, Lowering& lowering);
void lower_term(const ShawKeys& scheme, const ScoreWeights& weights, Lowering& lowering);
void lower_term(const TransformerXl& scheme, const ScoreWeights& weights, Lowering& lowering);
void lower_term(const XlNet& scheme, const ScoreWeights& weights, Lowering& lowering);
void lower_term(const Deberta& scheme, const ScoreWeights& weights, Lowering& lowering);
void lower_term(const DecomposedHw& scheme, const ScoreWeights& weights, Lowering& lowering);
void lower_term(const ContextualPosition& scheme, const ScoreWeights& weights, Lowering& lowering);
void lower_term(const ForgetGate& scheme, const ScoreWeights& weights, Lowering& lowering);
void lower_term(const DistanceLogits& scheme, const ScoreWeights& weights, Lowering& lowering);

// ---- values ----
void lower_values(std::monostate, Lowering& lowering);
void lower_values(const ShawValues& scheme, Lowering& lowering);
void lower_values(const RotatedValues& scheme, Lowering& lowering);

}  // namespace posenc::cpu
