#include "kernels/convert_loop.h"
#include "kernels/floats_avx512.h"

namespace posenc::kernels {

void convert_avx512(const ConvertRows& rows) noexcept { convert<Avx512Floats>(rows); }

}  // namespace posenc::kernels
