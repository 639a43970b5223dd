// The kernels for quantised KV caches (kernels/codes/code_loop.h, encode_loop.h) compiled for every machine, in plain
// C++: KernelTable::codes. src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the compiler flags.
#include "kernels/codes/codes_scalar.h"

#include "kernels/codes/code_loop.h"

namespace posenc::kernels {

constinit const CodeKernels codes_scalar = codes_of_tiles<ScalarCodes>();

}  // namespace posenc::kernels
