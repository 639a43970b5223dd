// What each scheme is to a cache whose tokens are moved: an overload each, so that a scheme without one does not
// compile (tests/attend/forgotten_scheme.cpp). Keys of the score stage hold no position: what is said of a term is what
// it makes of the hidden states, of which the layers above cache keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <variant>

#include "posenc/rope.h"
#include "posenc/schemes.h"

namespace posenc::reuse {

// ---- input: rows that are added to the embeddings ----

struct InputTraits {
  bool holds_place = true;      // every hidden state holds the token's own place
  bool by_length = false;       // divided by the length of the sequence
  std::int64_t neighbours = 0;  // tokens on either side that it looks at
};

inline InputTraits input_traits(const LearnedInput&) { return {}; }
inline InputTraits input_traits(const SinusoidalInput&) { return {}; }
inline InputTraits input_traits(const AxialInput&) { return {}; }
inline InputTraits input_traits(const TileInput&) { return {}; }
inline InputTraits input_traits(const IntegerInput& scheme) { return {.by_length = scheme.normalised}; }
inline InputTraits input_traits(const BinaryInput&) { return {}; }
inline InputTraits input_traits(const AxisSinesInput& scheme) { return {.by_length = scheme.normalised}; }
inline InputTraits input_traits(const FourierInput&) { return {}; }
inline InputTraits input_traits(const PerceptronInput&) { return {}; }
// Half a kernel for each layer of them; at most 2^31, where a file may say anything.
inline InputTraits input_traits(const ConvolutionInput& scheme) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31U;
  const std::int64_t one = std::clamp(scheme.kernel, std::int64_t{0}, kMost) / 2;
  const std::int64_t layers = std::clamp(scheme.layers, std::int64_t{0}, kMost);
  return {.holds_place = false, .neighbours = one != 0 && layers > kMost / one ? kMost : one * layers};
}

// ---- score ----

struct TermTraits {
  bool relative = true;     // of the distance alone
  bool gates = false;       // a call brings numbers that are made of each key's token
  bool reads_keys = false;  // as they are before any rotation
};

// A column is the relative form and a number of the row, which the softmax does not see, until it is rounded.
inline TermTraits term_traits(const Alibi& scheme) { return {.relative = scheme.form != AlibiForm::column_bfloat16}; }
inline TermTraits term_traits(const T5Bias&) { return {}; }
inline TermTraits term_traits(const ClippedBias&) { return {}; }
inline TermTraits term_traits(const GridBias&) { return {}; }
inline TermTraits term_traits(const Kerple&) { return {}; }
inline TermTraits term_traits(const Fire&) { return {.relative = false}; }  // over psi of the query's position
inline TermTraits term_traits(const Sandwich&) { return {}; }
inline TermTraits term_traits(const MlpBias&) { return {}; }
inline TermTraits term_traits(const ShawKeys& scheme) { return {.reads_keys = scheme.by_keys}; }
inline TermTraits term_traits(const TransformerXl& scheme) { return {.reads_keys = scheme.content_bias}; }
inline TermTraits term_traits(const XlNet&) { return {.reads_keys = true}; }
inline TermTraits term_traits(const Deberta& scheme) { return {.reads_keys = scheme.position_to_content}; }
inline TermTraits term_traits(const DecomposedHw&) { return {}; }
inline TermTraits term_traits(const ContextualPosition&) { return {}; }  // counts the keys that it sees
inline TermTraits term_traits(const ForgetGate&) { return {.gates = true}; }
inline TermTraits term_traits(const DistanceLogits&) { return {}; }

// ---- regions ----

struct RegionTraits {
  std::int64_t period = 1;   // scores are the same where all positions move by multiples of it
  bool one_rotation = true;  // a key is rotated in one way, whatever the query
};

inline RegionTraits region_traits(std::monostate) { return {}; }
inline RegionTraits region_traits(const SelfExtend& scheme) { return {.period = scheme.group, .one_rotation = false}; }
inline RegionTraits region_traits(const ReRope&) { return {.period = 1, .one_rotation = false}; }
inline RegionTraits region_traits(const DualChunk& scheme) { return {.period = scheme.chunk, .one_rotation = false}; }

// ---- value ----

struct ValueTraits {
  bool relative = true;
  bool rotates = false;  // values are cached as keys are: rotated, or to be rotated on load
};

inline ValueTraits value_traits(std::monostate) { return {}; }
inline ValueTraits value_traits(const ShawValues&) { return {}; }
// What is read holds the key's own position, unless the output is rotated back.
inline ValueTraits value_traits(const RotatedValues& scheme) {
  return {.relative = scheme.inverse_on_output, .rotates = true};
}

// ---- query scale: of the query's own position; 1 for all positions below a number ----

struct QueryTraits {
  bool relative = true;
  std::int64_t one_below = 0;
};

inline std::int64_t floored(double positions) {
  constexpr double kMost = 0x1p53;
  return positions >= 1 ? static_cast<std::int64_t>(std::min(positions, kMost)) : 0;
}

inline QueryTraits query_traits(std::monostate) { return {}; }
// floor((i + 1) / floor_scale) is 0 while i + 1 < floor_scale.
inline QueryTraits query_traits(const Llama4Temperature& scheme) {
  return {.relative = false, .one_below = std::max(floored(scheme.floor_scale) - 1, std::int64_t{0})};
}
inline QueryTraits query_traits(const MinistralTemperature& scheme) {
  return {.relative = false, .one_below = std::max(scheme.original_max_position_embeddings, std::int64_t{0})};
}
inline QueryTraits query_traits(const LogNScale& scheme) {
  return {.relative = false, .one_below = std::max(scheme.seq_length, std::int64_t{0})};
}
inline QueryTraits query_traits(const BeamTemperature&) { return {.relative = false}; }
inline QueryTraits query_traits(const InklingTemperature& scheme) {
  return {.relative = false, .one_below = floored(scheme.floor)};
}

// ---- scaling rules: the length up to which frequencies are the same; nothing: at every length ----

inline std::optional<std::int64_t> same_up_to(std::monostate) { return {}; }
inline std::optional<std::int64_t> same_up_to(const LinearScaling&) { return {}; }
inline std::optional<std::int64_t> same_up_to(const NtkScaling&) { return {}; }
inline std::optional<std::int64_t> same_up_to(const DynamicScaling& rule) { return rule.max_position_embeddings; }
inline std::optional<std::int64_t> same_up_to(const QwenNtkScaling& rule) { return rule.seq_length; }
inline std::optional<std::int64_t> same_up_to(const YarnScaling&) { return {}; }
inline std::optional<std::int64_t> same_up_to(const LongRopeScaling& rule) {
  return rule.original_max_position_embeddings;
}
inline std::optional<std::int64_t> same_up_to(const Llama3Scaling&) { return {}; }
inline std::optional<std::int64_t> same_up_to(const ProportionalScaling&) { return {}; }
inline std::optional<std::int64_t> same_up_to(const FactorListScaling&) { return {}; }

// Whether beyond it every length has frequencies of its own. Others have a few sides, each of many lengths: Qwen 1 a
// base for each doubling, LongRoPE two lists.
inline bool by_each_length(const Scaling& scaling) { return std::holds_alternative<DynamicScaling>(scaling); }

}  // namespace posenc::reuse
