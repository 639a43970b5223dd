// The input stage of kernels/input_loop.h, compiled for AVX-512 F, DQ, VL and BW (x86-64-v4): KernelTable::input.
// src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the compiler flags.
#include "kernels/isa/floats_avx512.h"
#include "kernels/input_loop.h"

namespace posenc::kernels {

void input_avx512(const InputRows& rows) noexcept { combine_input<Avx512Floats>(rows); }

}  // namespace posenc::kernels
