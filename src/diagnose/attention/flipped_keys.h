// Queries of an output that see one key more, or one less, than the plan shows them: a padding token that is not
// hidden, a place of the cache that was overwritten.
#pragma once

#include <vector>

#include "diagnose/attention/stage_judge.h"

namespace posenc::inline v0_2::port {

// Of an output without weights: the key of each query of which the plan leaves too much whose hiding, or showing,
// leaves least. Nothing where more than a quarter of the queries are such, or a key leaves more than rounding in one of
// them.
std::vector<AttentionTried> flipped_keys(const StageJudge& judge, const Mask& mask, const DumpedAttention& dumped,
                                         const Stage& stage, const AttentionTried& plan);

}  // namespace posenc::inline v0_2::port
