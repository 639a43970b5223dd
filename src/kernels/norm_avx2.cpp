#include "kernels/floats_avx2.h"
#include "kernels/norm_loop.h"

namespace posenc::kernels {

void normalise_avx2(const NormRows& rows) noexcept { normalise<Avx2Floats>(rows); }

}  // namespace posenc::kernels
