// The transpose of lowering (cpu/lower/lower.h): gradients of the primitives' numbers become gradients of what a layer
// has learned, by the derivatives of the schemes' formulas (src/math). An overload for each scheme, so that one without
// does not compile.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cpu/backward/backward_call.h"

namespace posenc::cpu {

// Which terms' gradients the call asks for: BackwardCall::wants and the others like it.
void mark_wanted(BackwardCall& backward);

// Writes all of AttendBackwardArgs::d_weights, and d_log_forget.
void raise(const BackwardCall& backward);

// Whether frequencies of the layer's rotations are among what is asked for; and those, written: the sums of all
// rotations of a call.
bool asks_for_frequencies(const LayerPlan& layer, std::span<const NamedGradient> asked);
void write_frequencies(const LayerPlan& layer, std::span<const NamedGradient> asked, const FrequencySums& sums);

// One scheme of the layer, its gradients and where they go.
struct Raising {
  const BackwardCall& backward;
  std::size_t scheme;  // of LayerPlan::score
  std::string prefix;  // of its names

  const LayerPlan& layer() const { return backward.call.layer; }
  // Primitive n of the scheme, and its sums.
  template <typename Primitive>
  const Primitive& term(std::size_t n = 0) const {
    return std::get<Primitive>(backward.call.lowered.terms[place(n)]);
  }
  std::size_t place(std::size_t n) const { return backward.call.lowered.first_term[scheme] + n; }
  const TermSums& sums(std::size_t n = 0) const { return backward.of_terms[place(n)]; }
  const RowSums& rows(std::size_t n = 0) const { return backward.of_rows[place(n)]; }
  bool is_asked(const std::string& name) const;
  TensorView asked(const std::string& name) const;  // empty: it is not
  // All elements of the tensor of that name, the last axis fastest; nothing where it is not asked for.
  void write(const std::string& name, std::span<const double> gradients) const;
};

void raise_term(const Alibi& scheme, const ScoreWeights& weights, const Raising& raising);
void raise_term(const T5Bias& scheme, const ScoreWeights& weights, const Raising& raising);
void raise_term(const ClippedBias& scheme, const ScoreWeights& weights, const Raising& raising);
void raise_term(const GridBias& scheme, const ScoreWeights& weights, const Raising& raising);
void raise_term(const Kerple& scheme, const ScoreWeights& weights, const Raising& raising);
void raise_term(const Fire& scheme, const ScoreWeights& weights, const Raising& raising);
void raise_term(const Sandwich& scheme, const ScoreWeights& weights, const Raising& raising);
void raise_term(const MlpBias& scheme, const ScoreWeights& weights, const Raising& raising);
void raise_term(const ShawKeys& scheme, const ScoreWeights& weights, const Raising& raising);
void raise_term(const TransformerXl& scheme, const ScoreWeights& weights, const Raising& raising);
void raise_term(const XlNet& scheme, const ScoreWeights& weights, const Raising& raising);
void raise_term(const Deberta& scheme, const ScoreWeights& weights, const Raising& raising);
void raise_term(const DecomposedHw& scheme, const ScoreWeights& weights, const Raising& raising);
void raise_term(const ContextualPosition& scheme, const ScoreWeights& weights, const Raising& raising);
void raise_term(const ForgetGate& scheme, const ScoreWeights& weights, const Raising& raising);
void raise_term(const DistanceLogits& scheme, const ScoreWeights& weights, const Raising& raising);

void raise_values(std::monostate, const Raising& raising);
void raise_values(const ShawValues& scheme, const Raising& raising);
void raise_values(const RotatedValues& scheme, const Raising& raising);

}  // namespace posenc::cpu
