// The RoPE kernel of kernels/rotate_loop.h, compiled for plain C++, for machines without any of the others and as the
// judge of them in tests: KernelTable::rotate. src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has
// the compiler flags.
#include "kernels/isa/floats_scalar.h"
#include "kernels/rotate_loop.h"

namespace posenc::kernels {

void rotate_scalar(const RotateRows& rows) noexcept { rotate<ScalarFloats>(rows); }

}  // namespace posenc::kernels
