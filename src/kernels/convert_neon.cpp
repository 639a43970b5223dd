// Conversion between f32, f16 and bf16 of kernels/convert_loop.h, compiled for NEON (every AArch64):
// KernelTable::convert. src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the compiler flags.
#include "kernels/convert_loop.h"
#include "kernels/isa/floats_neon.h"

namespace posenc::kernels {

void convert_neon(const ConvertRows& rows) noexcept { convert<NeonFloats>(rows); }

}  // namespace posenc::kernels
