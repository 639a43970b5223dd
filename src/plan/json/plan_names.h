// The names of enumerators and of the alternatives of variants in a plan's JSON: one table each, for both directions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "posenc/plan.h"

namespace posenc::plan {

template <std::size_t N>
using NameArray = std::array<std::string_view, N>;

// In the order of the enumerators, which count from 0. Members of structs, because GCC 12 exports specialisations of
// variable templates from a shared library whatever -fvisibility says.
template <typename E>
struct EnumNames;
template <>
struct EnumNames<Pairing> {
  static constexpr NameArray<2> kNames{"half", "interleaved"};
};
template <>
struct EnumNames<AxisFrequencies> {
  static constexpr NameArray<3> kNames{"shared", "per_axis", "strided"};
};
template <>
struct EnumNames<RotationDirection> {
  static constexpr NameArray<2> kNames{"counterclockwise", "clockwise"};
};
template <>
struct EnumNames<SinusoidConvention> {
  static constexpr NameArray<6> kNames{"paper", "tensor2tensor", "musicgen", "marian", "whisper", "xlnet"};
};
template <>
struct EnumNames<LayerKind> {
  static constexpr NameArray<7> kNames{
      "attention", "cross_attention", "linear_attention", "state_space", "convolution", "deformable_attention", "none"};
};
template <>
struct EnumNames<RotateRole> {
  static constexpr NameArray<3> kNames{"main", "indexer", "before_projection"};
};
template <>
struct EnumNames<MaskKind> {
  static constexpr NameArray<4> kNames{"causal", "bidirectional", "prefix", "sparse"};
};
template <>
struct EnumNames<SoftCap::Order> {
  static constexpr NameArray<2> kNames{"after_bias", "before_bias"};
};
template <>
struct EnumNames<QkNorm::Kind> {
  static constexpr NameArray<3> kNames{"rms", "l2", "layer"};
};
template <>
struct EnumNames<QkNorm::Order> {
  static constexpr NameArray<2> kNames{"before", "after"};
};
template <>
struct EnumNames<QkNorm::Over> {
  static constexpr NameArray<2> kNames{"head", "all_heads"};
};
template <>
struct EnumNames<QkNorm::Of> {
  static constexpr NameArray<2> kNames{"queries_and_keys", "keys"};
};
template <>
struct EnumNames<FedBy> {
  static constexpr NameArray<3> kNames{"not_said", "tokens", "mixed_tokens"};
};
template <>
struct EnumNames<AddedTo> {
  static constexpr NameArray<5> kNames{"queries", "keys", "queries_and_keys", "keys_and_values", "hidden_states"};
};
template <>
struct EnumNames<AddedHow> {
  static constexpr NameArray<3> kNames{"before_projection", "projected", "beside"};
};
template <>
struct EnumNames<PlaceOf> {
  static constexpr NameArray<4> kNames{"grid", "boxes", "points", "text"};
};
template <>
struct EnumNames<InputCombine> {
  static constexpr NameArray<2> kNames{"add", "multiply"};
};
template <>
struct EnumNames<AxialCombine> {
  static constexpr NameArray<2> kNames{"add", "concatenate"};
};
template <>
struct EnumNames<AlibiForm> {
  static constexpr NameArray<3> kNames{"relative", "column", "column_bfloat16"};
};
template <>
struct EnumNames<Kerple::Form> {
  static constexpr NameArray<2> kNames{"logarithmic", "power"};
};
template <>
struct EnumNames<SourceKind> {
  static constexpr NameArray<4> kNames{"config.json", "gguf", "params.json", "preset"};
};

template <typename E>
inline constexpr const auto& kEnumNames = EnumNames<E>::kNames;

// In the order of the alternatives. The empty name belongs to std::monostate, which JSON writes as null.
template <typename V>
struct KindNames;
template <>
struct KindNames<Scaling> {
  static constexpr NameArray<10> kNames{"",     "linear",   "ntk",    "dynamic",      "qwen_ntk",
                                        "yarn", "longrope", "llama3", "proportional", "factors"};
};
template <>
struct KindNames<InputScheme> {
  static constexpr NameArray<10> kNames{"learned", "sinusoidal", "axial",      "tile",    "convolution",
                                        "integer", "binary",     "axis_sines", "fourier", "perceptron"};
};
template <>
struct KindNames<ScoreTerm> {
  static constexpr NameArray<16> kNames{"alibi",         "t5",         "clipped", "grid",           "kerple", "fire",
                                        "sandwich",      "mlp",        "shaw",    "transformer_xl", "xlnet",  "deberta",
                                        "decomposed_hw", "contextual", "forget",  "distance_logits"};
};
template <>
struct KindNames<Regions> {
  static constexpr NameArray<4> kNames{"", "self_extend", "rerope", "dual_chunk"};
};
template <>
struct KindNames<ValueScheme> {
  static constexpr NameArray<3> kNames{"", "shaw", "rotated"};
};
template <>
struct KindNames<QueryScale> {
  static constexpr NameArray<6> kNames{"", "llama4", "ministral", "logn", "beam", "inkling"};
};
template <>
struct KindNames<decltype(Rotate::scheme)> {
  static constexpr NameArray<2> kNames{"rope", "xpos"};
};

template <typename V>
inline constexpr const auto& kKindNames = KindNames<V>::kNames;

// The member that names a variant's alternative.
template <typename V>
inline constexpr std::string_view kKindKey = "kind";
template <>
inline constexpr std::string_view kKindKey<Scaling> = "rule";

template <std::size_t N>
std::string_view name_at(const NameArray<N>& names, std::size_t index) noexcept {
  return index < N ? names[index] : std::string_view{};
}

template <typename E>
std::string_view enum_name(E value) noexcept {
  return name_at(kEnumNames<E>, static_cast<std::size_t>(value));
}

template <typename V>
std::string_view kind_name(const V& value) noexcept {
  static_assert(kKindNames<V>.size() == std::variant_size_v<V>);
  return name_at(kKindNames<V>, value.index());
}

// The position of `name` in the table; the empty name is none.
template <std::size_t N>
std::optional<std::size_t> index_of(const NameArray<N>& names, std::string_view name) noexcept {
  const auto found = std::find(names.begin(), names.end(), name);
  if (name.empty() || found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

// "half, interleaved", for an error's `expected`.
template <std::size_t N>
std::string listed(const NameArray<N>& names) {
  std::string out;
  for (const std::string_view name : names) {
    if (!name.empty()) out.append(out.empty() ? "" : ", ").append(name);
  }
  return out;
}

}  // namespace posenc::plan
