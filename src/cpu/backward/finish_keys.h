// The end of the backward pass for keys and values: sums of gradients of rotated rows are rotated back, and written in
// the dtype of the caller's tensors.
#pragma once

#include <cstdint>

#include "cpu/backward/backward_call.h"
#include "cpu/call/keep_going.h"

namespace posenc::cpu {

// Memory for all sums that the call asks for, and zeros in it.
void begin_keys(BackwardCall& backward);

// Writes d_k and d_v; of the frequencies, adds what keys and values say.
void finish_keys(BackwardCall& backward, KeepGoing& keep_going);

}  // namespace posenc::cpu
