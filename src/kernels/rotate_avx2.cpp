// The RoPE kernel of kernels/rotate_loop.h, compiled for AVX2 with FMA3 and F16C (x86-64-v3): KernelTable::rotate.
// src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the compiler flags.
#include "kernels/isa/floats_avx2.h"
#include "kernels/rotate_loop.h"

namespace posenc::kernels {

void rotate_avx2(const RotateRows& rows) noexcept { rotate<Avx2Floats>(rows); }

}  // namespace posenc::kernels
