// The scaling rules of rope.h, one file each: FILE.cpp defines, for its rule, these two functions.
//
//   scale<Real>(rope, rule, length)   the rule in double or float (real.h); parameters have passed check_rule
//   check_rule(rope, rule)            the first parameter that makes the formula undefined, or nothing
//
// The float order of steps is that of Hugging Face transformers 5.23.0, modeling_rope_utils.py: what Python computes on
// scalars is double there and here, what it computes on tensors is float.
// frequencies.cpp visits the variant, so a rule without these two does not build.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "posenc/error.h"
#include "posenc/rope.h"

namespace posenc::math {

using Length = std::optional<std::int64_t>;  // of the sequence, in tokens

template <typename Real>
struct Scaled {
  std::vector<Real> inv_freq;     // [dim/2], radians per position
  double attention_factor = 1.0;  // multiplies cos and sin
};

// default_inv_freq.cpp
template <typename Real>
Scaled<Real> scale(const Rope& rope, std::monostate rule, Length length);
std::optional<Problem> check_rule(const Rope& rope, std::monostate rule);

// linear.cpp
template <typename Real>
Scaled<Real> scale(const Rope& rope, const LinearScaling& rule, Length length);
std::optional<Problem> check_rule(const Rope& rope, const LinearScaling& rule);

// ntk.cpp
template <typename Real>
Scaled<Real> scale(const Rope& rope, const NtkScaling& rule, Length length);
std::optional<Problem> check_rule(const Rope& rope, const NtkScaling& rule);

// dynamic_ntk.cpp
template <typename Real>
Scaled<Real> scale(const Rope& rope, const DynamicScaling& rule, Length length);
std::optional<Problem> check_rule(const Rope& rope, const DynamicScaling& rule);

// qwen_ntk.cpp
template <typename Real>
Scaled<Real> scale(const Rope& rope, const QwenNtkScaling& rule, Length length);
std::optional<Problem> check_rule(const Rope& rope, const QwenNtkScaling& rule);

// yarn.cpp
template <typename Real>
Scaled<Real> scale(const Rope& rope, const YarnScaling& rule, Length length);
std::optional<Problem> check_rule(const Rope& rope, const YarnScaling& rule);

// longrope.cpp
template <typename Real>
Scaled<Real> scale(const Rope& rope, const LongRopeScaling& rule, Length length);
std::optional<Problem> check_rule(const Rope& rope, const LongRopeScaling& rule);

// llama3.cpp
template <typename Real>
Scaled<Real> scale(const Rope& rope, const Llama3Scaling& rule, Length length);
std::optional<Problem> check_rule(const Rope& rope, const Llama3Scaling& rule);

// proportional.cpp
template <typename Real>
Scaled<Real> scale(const Rope& rope, const ProportionalScaling& rule, Length length);
std::optional<Problem> check_rule(const Rope& rope, const ProportionalScaling& rule);
std::int64_t rotated_pairs(const Rope& rope, const ProportionalScaling& rule);

// factor_list.cpp
template <typename Real>
Scaled<Real> scale(const Rope& rope, const FactorListScaling& rule, Length length);
std::optional<Problem> check_rule(const Rope& rope, const FactorListScaling& rule);

}  // namespace posenc::math
