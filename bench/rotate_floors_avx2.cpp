// The parts of the rotation in AVX2. Compiled with that instruction set alone; called where the machine has it.
#include "kernels/isa/floats_avx2.h"
#include "rotate_floors_loop.h"

namespace posenc::bench {

RotateFloors rotate_floors_avx2() { return floors<Avx2Floats>(); }

}  // namespace posenc::bench
