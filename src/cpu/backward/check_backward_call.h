// What a call of attend_backward must keep to, besides what attend asks for.
#pragma once

#include "math/call_rows.h"
#include "posenc/attend.h"
#include "posenc/attend_backward.h"

namespace posenc::cpu {

// The call of attend whose gradients are asked for, as far as the backward pass reads it.
AttendArgs forward_args(const AttendBackwardArgs& args);

// Throws Error for the first thing that does not fit. `forward` is forward_args(args).
math::CallSizes check_backward_call(const LayerPlan& layer, const AttendBackwardArgs& args, const AttendArgs& forward);

}  // namespace posenc::cpu
