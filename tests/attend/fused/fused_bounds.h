// How far attend may be from the reference (tolerances.h, attend in floats).
#pragma once

#include "attend/scheme_call.h"
#include "posenc/attend.h"

namespace posenc::test {

// Bounds of each output and lse of a call.
SchemeCall::Result fused_bounds(const SchemeCall& call, const SchemeCall::Result& wanted, DType dtype,
                                Products products = Products::f32);

}  // namespace posenc::test
