#include "kernels/floats_avx2.h"
#include "kernels/rotate_loop.h"

namespace posenc::kernels {

void rotate_avx2(const RotateRows& rows) noexcept { rotate<Avx2Floats>(rows); }

}  // namespace posenc::kernels
