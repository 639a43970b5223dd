// QK norm (RMSNorm, LayerNorm, L2) of kernels/norm_loop.h, compiled for AVX-512 F, DQ, VL and BW (x86-64-v4):
// KernelTable::normalise and normalise_backward. src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here
// has the compiler flags.
#include "kernels/isa/floats_avx512.h"
#include "kernels/norm_loop.h"

namespace posenc::kernels {

void normalise_avx512(const NormRows& rows) noexcept { normalise<Avx512Floats>(rows); }
void normalise_backward_avx512(const NormBackwardRows& rows) noexcept { normalise_backward<Avx512Floats>(rows); }

}  // namespace posenc::kernels
