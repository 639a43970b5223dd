// What a call of attend must keep to besides math/check/check_attend.h: dtypes, strides, memory, pages of the KV cache.
#pragma once

#include "math/call_rows.h"
#include "posenc/attend.h"

namespace posenc::cpu {

// Throws Error for the first thing that does not fit.
math::CallSizes check_attend_call(const LayerPlan& layer, const AttendArgs& args);

}  // namespace posenc::cpu
