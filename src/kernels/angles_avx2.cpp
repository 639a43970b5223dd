#include "kernels/angles_loop.h"
#include "kernels/vec_avx2.h"

namespace posenc::kernels {

void angles_avx2(const AngleRows& rows) noexcept { angles<Avx2Vec>(rows); }

}  // namespace posenc::kernels
