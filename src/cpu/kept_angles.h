// Cos and sin of a call's rows, written once before the pass: the blocks of all heads ask for the same.
#pragma once

#include "cpu/attend_call.h"

namespace posenc::cpu {

// Fills CallRotation::of_queries and of_keys with the threads that the call allows, where rows turn as they stand, and
// all rotations together take no more than 16 MiB: of what does not fit, each tile's are written when it passes.
void keep_angles(AttendCall& call);

}  // namespace posenc::cpu
