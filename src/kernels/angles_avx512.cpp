// The angle kernel, cos and sin of positions, of kernels/angles_loop.h, compiled for AVX-512 F, DQ, VL and BW
// (x86-64-v4): KernelTable::angles. src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the
// compiler flags.
#include "kernels/angles_loop.h"
#include "kernels/isa/vec_avx512.h"

namespace posenc::kernels {

void angles_avx512(const AngleRows& rows) noexcept { angles<Avx512Vec>(rows); }

}  // namespace posenc::kernels
