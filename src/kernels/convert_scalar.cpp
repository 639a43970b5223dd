#include "kernels/convert_loop.h"
#include "kernels/floats_scalar.h"

namespace posenc::kernels {

void convert_scalar(const ConvertRows& rows) noexcept { convert<ScalarFloats>(rows); }

}  // namespace posenc::kernels
