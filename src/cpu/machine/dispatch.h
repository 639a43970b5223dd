// Which kernels a call runs on. The instruction set is chosen once, by processor features and POSENC_ISA; posenc/info.h
// is the public side, kernels/kernels.h the table that is chosen.
#pragma once

#include <span>
#include <string_view>

#include "cpu/machine/machine.h"
#include "kernels/kernels.h"
#include "posenc/info.h"

namespace posenc::cpu {

// The instruction set that `wanted`, the value of POSENC_ISA, stands for among `runnable`; empty and "automatic" stand
// for the last of them. Throws Error for any other name.
Isa choose_isa(std::string_view wanted, std::span<const IsaKernels> runnable);

// The kernels of `isa`. Throws Error "[where] isa must be one of ..." where this machine cannot run them.
const kernels::KernelTable& kernels_for(std::string_view where, Isa isa);

}  // namespace posenc::cpu
