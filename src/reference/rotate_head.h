// RoPE on one head of one token, in double; angles are made here, and not by the angle kernel, so that an error of
// either shows.
#pragma once

#include <functional>
#include <span>

#include "posenc/rope.h"
#include "posenc/rotary_table.h"
#include "posenc/rotate.h"

namespace posenc::inline v0_2::reference {

// x, [head_dim], is rotated in place. coordinate(axis) is the token's; frequencies are those of rope in the arithmetic
// of `angles`.
void rotate_head(const Rope& rope, const Frequencies& frequencies,
                 const std::function<double(std::int64_t)>& coordinate, Direction direction, Angles angles,
                 std::span<double> x);

// Its transpose, by exact angles: d, [head_dim], the gradient of what came out, becomes that of what went in, in place.
// rotated: what came out. Returns the gradient of each inverse frequency, [pairs]: the position times that of its
// angle.
std::vector<double> rotate_head_backward(const Rope& rope, const Frequencies& frequencies,
                                         const std::function<double(std::int64_t)>& coordinate, Direction direction,
                                         std::span<const double> rotated, std::span<double> d);

}  // namespace posenc::inline v0_2::reference
