#include "kernels/convert_loop.h"
#include "kernels/floats_avx2.h"

namespace posenc::kernels {

void convert_avx2(const ConvertRows& rows) noexcept { convert<Avx2Floats>(rows); }

}  // namespace posenc::kernels
