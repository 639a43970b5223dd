// QK norm (RMSNorm, LayerNorm, L2) of kernels/norm_loop.h, compiled for plain C++, for machines without any of the
// others and as the judge of them in tests: KernelTable::normalise and normalise_backward. src/cpu/machine/dispatch.h
// chooses at run time; CMakeLists.txt here has the compiler flags.
#include "kernels/isa/floats_scalar.h"
#include "kernels/norm_loop.h"

namespace posenc::kernels {

void normalise_scalar(const NormRows& rows) noexcept { normalise<ScalarFloats>(rows); }
void normalise_backward_scalar(const NormBackwardRows& rows) noexcept { normalise_backward<ScalarFloats>(rows); }

}  // namespace posenc::kernels
