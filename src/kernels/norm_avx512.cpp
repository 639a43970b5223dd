#include "kernels/floats_avx512.h"
#include "kernels/norm_loop.h"

namespace posenc::kernels {

void normalise_avx512(const NormRows& rows) noexcept { normalise<Avx512Floats>(rows); }

}  // namespace posenc::kernels
