// posenc attend --linear: the same tensors and positions through linear attention (posenc/attend_linear.h) instead of
// a softmax, and its judge.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attend/attend_call.h"
#include "attend/attend_error.h"
#include "posenc/feature_map.h"
#include "posenc/info.h"
#include "posenc/parallel.h"
#include "posenc/tensor.h"

namespace posenc::tool {

std::string_view name(FeatureMap map);    // "elu_plus_one"
std::string linear_text(FeatureMap map);  // "linear attention (elu + 1)"

// All queries, in one call: a state goes from row to row. Throws what attend_linear does.
void attend_linear_all(const AttendCall& call, FeatureMap map, const TensorView& out, const Parallel& parallel,
                       Isa isa);

// How far some of the queries are from reference::attend_linear, and from the bound of linear_bound.h. not_finite
// counts outputs that have no bound, besides non-finite ones.
AttendError judge_linear(const AttendCall& call, FeatureMap map, const ConstTensorView& out,
                         std::int64_t products = kJudgedProducts);

}  // namespace posenc::tool
