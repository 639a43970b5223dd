// The fast path of rotate: the calls that an engine makes for each token of each layer, whose checks take a few
// comparisons.
//
// q and k of rank 3 in place, of one held table with one axis; channels of a head, heads of a token and tokens in this
// order in memory, q and k in memory of their own; forward or transposed; positions counted, or listed as integers.
// check_rotate.h looks at every other call, and alone says what is wrong with one. A call that passes here passes there
// too, and becomes the same RotateCall (tests/rotate/plain_call_test.cpp).
#pragma once

#include "cpu/rotate/check_rotate.h"
#include "kernels/kernels.h"
#include "posenc/rotate.h"

namespace posenc::cpu {

// Whether the call is one of these, with nothing wrong but, at most, its `parallel`.
bool is_plain(const RotateArgs& args) noexcept;

// Of a plain call.
RotateCall plain_call(const RotateArgs& args) noexcept;

// Whether a call is plain and so small that one thread rotates it, in one run of the kernel for each tensor.
bool is_small_and_plain(const RotateArgs& args) noexcept;

// Rotates it: what the general way would do, without what makes it general, half the time of a call on one token.
void rotate_small(const RotateArgs& args, const kernels::KernelTable& kernels) noexcept;

}  // namespace posenc::cpu
