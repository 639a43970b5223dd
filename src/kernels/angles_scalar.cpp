// The angle kernel, cos and sin of positions, of kernels/angles_loop.h, compiled for plain C++, for machines without
// any of the others and as the judge of them in tests: KernelTable::angles. src/cpu/machine/dispatch.h chooses at run
// time; CMakeLists.txt here has the compiler flags.
#include "kernels/angles_loop.h"
#include "kernels/isa/vec_scalar.h"

namespace posenc::kernels {

void angles_scalar(const AngleRows& rows) noexcept { angles<ScalarVec>(rows); }

}  // namespace posenc::kernels
