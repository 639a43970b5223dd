// A stack in one line, for tables of expected facts:
//
//   decoder: table 130+2; 0-2 4/2x64 half 64 @20000 s0.125 rms causal w31,0; 3 4/2x64 s0.125 rms causal
//
// the table's rows and offset; then runs of equal layers: heads, key heads, channels of a head; pairing, channels that
// rotate, their base and, where they rotate that way, "clockwise"; the softmax scale; the norm of q and k; what is
// seen, and a window's reach to each side.
#pragma once

#include <string>

#include "posenc/plan.h"

namespace posenc::test {

std::string summary(const Stack& stack);

// All stacks, in their order, with bars between them.
std::string summary(const Plan& plan);

}  // namespace posenc::test
