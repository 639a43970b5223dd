#include "kernels/floats_avx512.h"
#include "kernels/rotate_loop.h"

namespace posenc::kernels {

void rotate_avx512(const RotateRows& rows) noexcept { rotate<Avx512Floats>(rows); }

}  // namespace posenc::kernels
