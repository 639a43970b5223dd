// Masks that are measured instead of guessed: those that scores or weights show are read off, and those that hide in an
// output are searched, a bound of one kind at a time: how far back a query sees, how far ahead, from which key on, and
// up to which key all see each other.
#pragma once

#include <vector>

#include "diagnose/attention/stage_judge.h"

namespace posenc::inline v0_2::port {

// What hides the keys that `seen` hides, in words: the plan's mask with one number changed. All that make exactly
// these; of one query a window and hidden first keys are one and the same.
std::vector<Change> mask_words(const Mask& mask, const DumpedAttention& dumped, const Seen& plan, const Seen& seen);

// Keys that weights show: those whose weight is above 0 in any head. Nothing where the plan's own are shown.
std::optional<Seen> shown_by_weights(const DumpedAttention& dumped, const Seen& plan);

// Of an output that comes straight from `scores`: of each bound the one that leaves least, as hypotheses.
std::vector<AttentionTried> searched_masks(const Mask& mask, const DumpedAttention& dumped, const AttentionTried& plan,
                                           const Scores& scores);

}  // namespace posenc::inline v0_2::port
