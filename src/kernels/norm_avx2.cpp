// QK norm (RMSNorm, LayerNorm, L2) of kernels/norm_loop.h, compiled for AVX2 with FMA3 and F16C (x86-64-v3):
// KernelTable::normalise and normalise_backward. src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here
// has the compiler flags.
#include "kernels/isa/floats_avx2.h"
#include "kernels/norm_loop.h"

namespace posenc::kernels {

void normalise_avx2(const NormRows& rows) noexcept { normalise<Avx2Floats>(rows); }
void normalise_backward_avx2(const NormBackwardRows& rows) noexcept { normalise_backward<Avx2Floats>(rows); }

}  // namespace posenc::kernels
