// QK norm (RMSNorm, LayerNorm, L2) of kernels/norm_loop.h, compiled for NEON (every AArch64): KernelTable::normalise
// and normalise_backward. src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the compiler flags.
#include "kernels/isa/floats_neon.h"
#include "kernels/norm_loop.h"

namespace posenc::kernels {

void normalise_neon(const NormRows& rows) noexcept { normalise<NeonFloats>(rows); }
void normalise_backward_neon(const NormBackwardRows& rows) noexcept { normalise_backward<NeonFloats>(rows); }

}  // namespace posenc::kernels
