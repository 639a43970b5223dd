// The input stage of kernels/input_loop.h, compiled for NEON (every AArch64): KernelTable::input.
// src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the compiler flags.
#include "kernels/isa/floats_neon.h"
#include "kernels/input_loop.h"

namespace posenc::kernels {

void input_neon(const InputRows& rows) noexcept { combine_input<NeonFloats>(rows); }

}  // namespace posenc::kernels
