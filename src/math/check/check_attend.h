// What a call of attention must keep to, by the formulas (reference::attend) or by the kernels (attend): shapes,
// positions, masks, weights. Throws Error "[where] x must be Y but is Z" before anything is written.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "math/call_rows.h"
#include "posenc/reference_attend.h"

namespace posenc::math {

using reference::AttendArgs;

// Throws Error for the first thing that does not fit. Of `out`, `lse` and `scores` only the shapes are looked at.
void check_attend(const LayerPlan& layer, const AttendArgs& args);

// Of the layer alone; and of it and its weights, where the tensors of a call have been checked.
void check_layer(const LayerPlan& layer);
void check_weights(const LayerPlan& layer, const AttendArgs& args, const CallRows& rows);

// The most coordinates that a score term may count along: no published model has more than four.
inline constexpr std::int64_t kMaxScoreAxes = 16;

// The most rows, heads or channels that anything may have: a place in a table is a number of 32 bits.
inline constexpr std::int64_t kMostOfAxis = std::int64_t{1} << 30;

// Of them, the learned tables and the inputs that only one scheme has (check_score_terms.cpp).
void check_score_terms(const LayerPlan& layer, const AttendArgs& args, const CallRows& rows);

// What has no place in the layer is omitted (check_left_out.cpp).
void check_weights_left_out(const LayerPlan& layer, const LayerWeights& weights);
void check_inputs_left_out(const LayerPlan& layer, const AttendArgs& args);

// Of tensors whose ranks have been checked.
CallSizes sizes_of(const AttendArgs& args);

// Of the ends of packed sequences, each at least the one before.
void check_ascending(const char* field, std::span<const std::int32_t> cu_seqlens);

// "[attend] field must MUST but is IS", whoever checks. require_shape also refuses a null pointer where there are
// elements.
[[noreturn]] void refuse(std::string field, std::string must, std::string is);
void require_shape(const std::string& field, const ConstTensorView& x, std::initializer_list<std::int64_t> shape);

}  // namespace posenc::math
