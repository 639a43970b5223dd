// The kernels for quantised KV caches (kernels/codes/code_loop.h, encode_loop.h) compiled for AVX-512 F, DQ, VL and BW
// (x86-64-v4): KernelTable::codes. src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the compiler
// flags.
#include "kernels/codes/codes_avx512.h"

#include "kernels/codes/code_loop.h"

namespace posenc::kernels {

constinit const CodeKernels codes_avx512 = codes<Avx512Codes>();

}  // namespace posenc::kernels
