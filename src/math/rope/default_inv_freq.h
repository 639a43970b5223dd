// The frequencies that every scaling rule starts from: base^(-2p/dim). RoFormer, arXiv 2104.09864, (15).
//
// The exponent of a pair (AxisFrequencies in rope.h), of A axes, pair p being the i-th pair of axis a:
//   shared     2p / dim
//   per_axis   2i / (dim/A)          Qwen2-VL's vision tower (arXiv 2409.12191), SAM 2, V-JEPA 2; Kimi K2.5's axes
//                                    alternate
//   strided    2(iA + a) / dim       Pixtral (arXiv 2410.07073): rows take even p, columns odd ones
#pragma once

#include <vector>

#include "posenc/rope.h"

namespace posenc::math {

// base^(2p/dim), the inverse of the frequencies. [dim/2]. `base` is rope.base unless a rule changes it.
template <typename Real>
std::vector<Real> powers(const Rope& rope, double base);

// base^(-2p/dim); in float 1 / powers. [dim/2], radians per position.
template <typename Real>
std::vector<Real> default_inv_freq(const Rope& rope, double base);

template <>
std::vector<double> powers(const Rope& rope, double base);
template <>
std::vector<float> powers(const Rope& rope, double base);
template <>
std::vector<double> default_inv_freq(const Rope& rope, double base);
template <>
std::vector<float> default_inv_freq(const Rope& rope, double base);

}  // namespace posenc::math
