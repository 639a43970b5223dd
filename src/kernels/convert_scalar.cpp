// Conversion between f32, f16 and bf16 of kernels/convert_loop.h, compiled for plain C++, for machines without any of
// the others and as the judge of them in tests: KernelTable::convert. src/cpu/machine/dispatch.h chooses at run time;
// CMakeLists.txt here has the compiler flags.
#include "kernels/convert_loop.h"
#include "kernels/isa/floats_scalar.h"

namespace posenc::kernels {

void convert_scalar(const ConvertRows& rows) noexcept { convert<ScalarFloats>(rows); }

}  // namespace posenc::kernels
