// Numbers of an attention that are fitted to a dump where no number that is known explains it: the softmax scale, of
// all or of some heads or queries, the soft cap, sinks and ALiBi's slopes.
#pragma once

#include <vector>

#include "diagnose/attention/stage_judge.h"

namespace posenc::inline v0_2::port {

// Hypotheses, whether they hold or not; each the best of its kind.
std::vector<AttentionTried> fitted_numbers(const StageJudge& judge, const LayerPlan& layer,
                                           const DumpedAttention& dumped, const Stage& stage,
                                           const AttentionTried& plan);

}  // namespace posenc::inline v0_2::port
