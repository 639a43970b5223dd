#include "kernels/angles_loop.h"
#include "kernels/vec_avx512.h"

namespace posenc::kernels {

void angles_avx512(const AngleRows& rows) noexcept { angles<Avx512Vec>(rows); }

}  // namespace posenc::kernels
