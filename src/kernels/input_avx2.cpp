// The input stage of kernels/input_loop.h, compiled for AVX2 with FMA3 and F16C (x86-64-v3): KernelTable::input.
// src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the compiler flags.
#include "kernels/isa/floats_avx2.h"
#include "kernels/input_loop.h"

namespace posenc::kernels {

void input_avx2(const InputRows& rows) noexcept { combine_input<Avx2Floats>(rows); }

}  // namespace posenc::kernels
