// The RoPE kernel of kernels/rotate_loop.h, compiled for NEON (every AArch64): KernelTable::rotate.
// src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the compiler flags.
#include "kernels/isa/floats_neon.h"
#include "kernels/rotate_loop.h"

namespace posenc::kernels {

void rotate_neon(const RotateRows& rows) noexcept { rotate<NeonFloats>(rows); }

}  // namespace posenc::kernels
