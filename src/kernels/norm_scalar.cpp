#include "kernels/floats_scalar.h"
#include "kernels/norm_loop.h"

namespace posenc::kernels {

void normalise_scalar(const NormRows& rows) noexcept { normalise<ScalarFloats>(rows); }

}  // namespace posenc::kernels
