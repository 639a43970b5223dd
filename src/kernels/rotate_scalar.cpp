#include "kernels/floats_scalar.h"
#include "kernels/rotate_loop.h"

namespace posenc::kernels {

void rotate_scalar(const RotateRows& rows) noexcept { rotate<ScalarFloats>(rows); }

}  // namespace posenc::kernels
