// Which layers read the inputs that belong to one scheme: segments (XLNet), log_forget (FoX), row_gate (WavLM).
#pragma once

#include <span>

#include "posenc/attention.h"
#include "posenc/plan.h"

namespace posenc::math {

bool reads_segments(std::span<const ScoreWeights> weights);  // XLNet's, where it has any for segments
bool reads_log_forget(const LayerPlan& layer);
bool reads_row_gate(const LayerPlan& layer);

}  // namespace posenc::math
