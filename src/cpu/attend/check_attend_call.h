// What a call of attend must keep to besides math/check/check_attend.h: dtypes, strides, memory, pages of the KV cache.
#pragma once

#include <string_view>

#include "math/call_rows.h"
#include "posenc/attend.h"

namespace posenc::cpu {

// Throws Error for the first thing that does not fit. `writes`: out, lse and carry are written, and so share no memory.
math::CallSizes check_attend_call(const LayerPlan& layer, const AttendArgs& args, bool writes = true);

// How many schemes of the layer have scores that depend on the keys after: one, or one of either kind, CoPE and forget
// gates. Throws Error for none, for which `field` has no place, and for more.
std::int64_t require_sums_along_keys(std::string_view where, const char* field, const LayerPlan& layer);

}  // namespace posenc::cpu
