// Biases that are measured instead of guessed: which head's bias each head has; which of T5's buckets each distance
// has; by which distances ALiBi's slopes are multiplied.
#pragma once

#include <vector>

#include "diagnose/attention/stage_judge.h"

namespace posenc::inline v0_2::port {

// Hypotheses, whether they hold or not. Buckets and distances of scores and of weights, heads of outputs too.
std::vector<AttentionTried> measured_biases(const AttentionDumpArgs& args, const DumpedAttention& dumped,
                                            const Stage& stage, const AttentionTried& plan);

}  // namespace posenc::inline v0_2::port
