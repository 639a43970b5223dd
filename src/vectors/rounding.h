// The dtypes that a port may compute in, and what their roundings come to. docs/vectors.md has the derivation of all
// bounds of this folder.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "posenc/tensor.h"

namespace posenc::inline v0_2::golden {

inline constexpr double kFloat = 0x1p-24;  // one rounding of a float32, relatively

// `unit`: one rounding, relatively. `least`: what it is off at most below the smallest normal number.
struct Rounding {
  DType dtype;
  double unit;
  double least;
};
inline constexpr std::array<Rounding, 3> kRoundings = {
    {{DType::f32, kFloat, 0x1p-150}, {DType::bf16, 0x1p-8, 0x1p-134}, {DType::f16, 0x1p-11, 0x1p-25}}};

// The roundings of a sum of so many terms, one after another: at most one of each partial sum. Of many they do not all
// point one way: with independent ones of mean zero, 6 sqrt(n) are exceeded with a probability below
// 2 exp(-6^2 / 2) = 3e-8 (Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, theorem 2.4).
inline double summed(double terms) { return std::min(terms, 6 * std::sqrt(terms)); }

// The same of errors of different sizes, of which `most` is the sum and `squares` that of the squares (Hoeffding).
inline double together(double most, double squares) { return std::min(most, 6 * std::sqrt(squares)); }
// Of roundings, which lie evenly between their ends: a sum of such is as rarely beyond 6 of its standard deviations,
// and the variance of one is a third of its largest square.
inline double roundings_together(double most, double squares) { return std::min(most, 6 * std::sqrt(squares / 3)); }

}  // namespace posenc::inline v0_2::golden
