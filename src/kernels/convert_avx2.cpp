// Conversion between f32, f16 and bf16 of kernels/convert_loop.h, compiled for AVX2 with FMA3 and F16C (x86-64-v3):
// KernelTable::convert. src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the compiler flags.
#include "kernels/convert_loop.h"
#include "kernels/isa/floats_avx2.h"

namespace posenc::kernels {

void convert_avx2(const ConvertRows& rows) noexcept { convert<Avx2Floats>(rows); }

}  // namespace posenc::kernels
