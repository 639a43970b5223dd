// Least squares: what of some columns no linear combination of others gives. Tells whether one affine map leads from
// the encoding of each place to the next, as a rotation does.
#pragma once

#include "properties/numbers.h"

namespace posenc::properties {

// min over X of |B - A X| (Frobenius), rows of A and B being the equations. A may have dependent columns: those of
// which less is left than rounding makes of the longest are none.
double least_squares_residual(const Rows& a, const Rows& b);

}  // namespace posenc::properties
