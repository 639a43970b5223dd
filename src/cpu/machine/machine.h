// What the processor can do, by its feature bits and what the operating system saves for it. One folder per kind of
// machine implements this; CMake picks it.
#pragma once

#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "posenc/info.h"

namespace posenc::cpu {

// The vendor's own name of the processor, or empty.
std::string processor_name();

// Names of the features that matter here, in a fixed order.
std::vector<std::string> processor_features();

struct IsaKernels {
  Isa isa;
  kernels::KernelTable table;
};

// The kernels of this build that this machine can run, worst first; scalar leads.
std::vector<IsaKernels> runnable_kernels();

}  // namespace posenc::cpu
