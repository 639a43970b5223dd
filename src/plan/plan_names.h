// The names of enumerators and of the alternatives of variants in a plan's JSON: one table each, for both directions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "posenc/plan.h"

namespace posenc::plan {

template <std::size_t N>
using Names = std::array<std::string_view, N>;

// In the order of the enumerators, which count from 0.
template <typename E>
inline constexpr Names<0> kEnumNames{};
template <>
inline constexpr Names<2> kEnumNames<Pairing>{"half", "interleaved"};
template <>
inline constexpr Names<3> kEnumNames<Ladder>{"shared", "per_axis", "dealt"};
template <>
inline constexpr Names<6> kEnumNames<SinusoidConvention>{"paper",  "tensor2tensor", "musicgen",
                                                         "marian", "whisper",       "xlnet"};
template <>
inline constexpr Names<6> kEnumNames<LayerKind>{"attention",   "cross_attention", "linear_attention",
                                                "state_space", "convolution",     "none"};
template <>
inline constexpr Names<2> kEnumNames<RotateRole>{"main", "indexer"};
template <>
inline constexpr Names<4> kEnumNames<MaskKind>{"causal", "bidirectional", "prefix", "sparse"};
template <>
inline constexpr Names<2> kEnumNames<SoftCap::Order>{"after_bias", "before_bias"};
template <>
inline constexpr Names<3> kEnumNames<QkNorm::Kind>{"rms", "l2", "layer"};
template <>
inline constexpr Names<2> kEnumNames<QkNorm::Order>{"before", "after"};
template <>
inline constexpr Names<2> kEnumNames<QkNorm::Over>{"head", "all_heads"};
template <>
inline constexpr Names<4> kEnumNames<SourceKind>{"config.json", "gguf", "params.json", "preset"};

// In the order of the alternatives. The empty name belongs to std::monostate, which JSON writes as null.
template <typename V>
inline constexpr Names<0> kKindNames{};
template <>
inline constexpr Names<10> kKindNames<Scaling>{"",     "linear",   "ntk",    "dynamic",      "qwen_ntk",
                                               "yarn", "longrope", "llama3", "proportional", "factors"};
template <>
inline constexpr Names<3> kKindNames<InputScheme>{"learned", "sinusoidal", "axial"};
template <>
inline constexpr Names<6> kKindNames<ScoreTerm>{"alibi", "t5", "shaw", "transformer_xl", "xlnet", "deberta"};
template <>
inline constexpr Names<3> kKindNames<ValueScheme>{"", "shaw", "rotated"};
template <>
inline constexpr Names<4> kKindNames<QueryScale>{"", "llama4", "ministral", "logn"};
template <>
inline constexpr Names<2> kKindNames<decltype(Rotate::scheme)>{"rope", "xpos"};

// The member that names a variant's alternative.
template <typename V>
inline constexpr std::string_view kKindKey = "kind";
template <>
inline constexpr std::string_view kKindKey<Scaling> = "rule";

template <std::size_t N>
std::string_view name_at(const Names<N>& names, std::size_t index) noexcept {
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
std::optional<std::size_t> index_of(const Names<N>& names, std::string_view name) noexcept {
  const auto found = std::find(names.begin(), names.end(), name);
  if (name.empty() || found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

// "half, interleaved", for an error's `expected`.
template <std::size_t N>
std::string listed(const Names<N>& names) {
  std::string out;
  for (const std::string_view name : names) {
    if (!name.empty()) out.append(out.empty() ? "" : ", ").append(name);
  }
  return out;
}

}  // namespace posenc::plan
