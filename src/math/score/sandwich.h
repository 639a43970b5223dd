// The factors of Sandwich's bias (arXiv 2212.10356; the formula is in sandwich.cpp), split so that for many distances
// and heads each is computed once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "posenc/schemes.h"

namespace posenc::math {

// 10000^(-2p / channels), [channels / 2]
std::vector<double> sandwich_inv_freq(const Sandwich& scheme);

// sum_p cos(d inv_freq_p)
double sandwich_sum(std::span<const double> inv_freq, double distance);

// heads / (8 (head + 1))
double sandwich_factor(const Sandwich& scheme, std::int64_t head);

}  // namespace posenc::math
