#include "kernels/floats_avx512_bf16.h"
#include "kernels/rotate_loop.h"

namespace posenc::kernels {

void rotate_avx512_bf16(const RotateRows& rows) noexcept { rotate<Avx512Bf16Floats>(rows); }

}  // namespace posenc::kernels
