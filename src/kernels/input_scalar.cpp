// The input stage of kernels/input_loop.h, compiled for plain C++, for machines without any of the others and as the
// judge of them in tests: KernelTable::input. src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has
// the compiler flags.
#include "kernels/isa/floats_scalar.h"
#include "kernels/input_loop.h"

namespace posenc::kernels {

void input_scalar(const InputRows& rows) noexcept { combine_input<ScalarFloats>(rows); }

}  // namespace posenc::kernels
