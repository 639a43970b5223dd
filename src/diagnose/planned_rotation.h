// Tensors rotated as the plan says, in float64: where what stands beside the rotation is looked for.
#pragma once

#include <vector>

#include "diagnose/expectation.h"
#include "diagnose/samples.h"

namespace posenc::inline v0_2::port {

enum class Way : std::uint8_t { forth, back };

// `values`: before or after of `samples`, [rows, heads, channels]. Back, the factor on cos and sin is divided by. Of an
// expectation with a rope.
std::vector<double> rotated_as_planned(const Samples& samples, std::vector<double> values, const Expectation& expected,
                                       Way way);

}  // namespace posenc::inline v0_2::port
