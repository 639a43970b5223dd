// The angle kernel, cos and sin of positions, of kernels/angles_loop.h, compiled for NEON (every AArch64):
// KernelTable::angles. src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the compiler flags.
#include "kernels/angles_loop.h"
#include "kernels/isa/vec_neon.h"

namespace posenc::kernels {

void angles_neon(const AngleRows& rows) noexcept { angles<NeonVec>(rows); }

}  // namespace posenc::kernels
