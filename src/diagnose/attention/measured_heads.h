// Which KV heads a port's heads have, and by how much its values are multiplied: measured, where neither groups nor
// turns explain a stage.
#pragma once

#include <vector>

#include "diagnose/attention/stage_judge.h"

namespace posenc::inline v0_2::port {

std::vector<AttentionTried> measured_heads(const StageJudge& judge, const AttentionDumpArgs& args,
                                           const DumpedAttention& dumped, const Stage& stage,
                                           const AttentionTried& plan);

}  // namespace posenc::inline v0_2::port
