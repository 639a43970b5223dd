// Conversion between f32, f16 and bf16 of kernels/convert_loop.h, compiled for AVX-512 F, DQ, VL and BW (x86-64-v4):
// KernelTable::convert. src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the compiler flags.
#include "kernels/convert_loop.h"
#include "kernels/isa/floats_avx512.h"

namespace posenc::kernels {

void convert_avx512(const ConvertRows& rows) noexcept { convert<Avx512Floats>(rows); }

}  // namespace posenc::kernels
