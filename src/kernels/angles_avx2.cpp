// The angle kernel, cos and sin of positions, of kernels/angles_loop.h, compiled for AVX2 with FMA3 (x86-64-v3):
// KernelTable::angles. src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the compiler flags.
#include "kernels/angles_loop.h"
#include "kernels/isa/vec_avx2.h"

namespace posenc::kernels {

void angles_avx2(const AngleRows& rows) noexcept { angles<Avx2Vec>(rows); }

}  // namespace posenc::kernels
