// What a call of attend_linear must keep to: what one of attend does, without what only a softmax has; and its state,
// which is read and written and so shares no memory with another tensor.
#pragma once

#include "math/call_rows.h"
#include "posenc/attend.h"
#include "posenc/attend_linear.h"

namespace posenc::cpu {

// `same`: the call's tensors and inputs, as attend takes them. Throws Error for the first thing that does not fit.
// `layer` is of the kind that attends (math::attending).
math::CallSizes check_linear_call(const LayerPlan& layer, const AttendLinearArgs& args, const AttendArgs& same);

// Of the backward pass: `same` has d_out in the place of out. Errors are those of attend_linear_backward.
math::CallSizes check_linear_backward(const LayerPlan& layer, const AttendLinearBackwardArgs& args,
                                      const AttendArgs& same);

}  // namespace posenc::cpu
