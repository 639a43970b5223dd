// The RoPE kernel of kernels/rotate_loop.h, compiled for AVX-512 F, DQ, VL and BW (x86-64-v4): KernelTable::rotate.
// src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the compiler flags.
#include "kernels/isa/floats_avx512.h"
#include "kernels/rotate_loop.h"

namespace posenc::kernels {

void rotate_avx512(const RotateRows& rows) noexcept { rotate<Avx512Floats>(rows); }

}  // namespace posenc::kernels
