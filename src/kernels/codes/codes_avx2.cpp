// The kernels for quantised KV caches (kernels/codes/code_loop.h, encode_loop.h) compiled for AVX2 with FMA3 and F16C
// (x86-64-v3): KernelTable::codes. src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the compiler
// flags.
#include "kernels/codes/codes_avx2.h"

#include "kernels/codes/code_loop.h"

namespace posenc::kernels {

constinit const CodeKernels codes_avx2 = codes<Avx2Codes>();

}  // namespace posenc::kernels
