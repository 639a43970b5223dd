#include "kernels/floats_avx512.h"
#include "rotate_floors_loop.h"

namespace posenc::bench {

RotateFloors rotate_floors_avx512() { return floors<Avx512Floats>(); }

}  // namespace posenc::bench
