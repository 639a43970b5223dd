// NTK-aware scaling: a larger base leaves the fastest pair as it is and divides the slowest by the stretch.
// First published in a forum; written down in the YaRN paper, arXiv 2309.00071.
//
//   base' = base * stretch^(dim/(dim-2))      dim > 2
//
// Then the last pair, p = dim/2 - 1, rotates with base'^(-(dim-2)/dim) = base^(-(dim-2)/dim) / stretch. Three rules
// share it and differ in the stretch: ntk.cpp, dynamic_ntk.cpp, qwen_ntk.cpp.
#pragma once

#include <optional>
#include <string_view>

#include "posenc/error.h"
#include "posenc/rope.h"

namespace posenc::math {

// A scalar, so double in both arithmetics.
double ntk_base(const Rope& rope, double stretch);

// What the formula needs of the scheme: dim > 2 and one ladder.
std::optional<Problem> check_ntk(const Rope& rope, std::string_view rule);

}  // namespace posenc::math
