// What a slope of ALiBi, arXiv 2108.12409, does to its bias (posenc/scores.h, alibi_bias), for slopes that are learned.
#pragma once

#include "posenc/schemes.h"

namespace posenc::math {

// d bias / d slope: -(i - j), -|i - j| or j. The bias is a line in the slope; of column_bfloat16, whose roundings are
// steps, this is j rounded, as autograd in torch has it: the derivative of a rounding counts as 1.
double alibi_slope_derivative(const Alibi& scheme, double i, double j);

}  // namespace posenc::math
