// Stands in for bench/openblas where CMake found no OpenBLAS: no kernels, so bench_attend leaves the peer out.
#include "blas_attend.h"

namespace posenc::bench {

std::string_view blas_kernels() { return {}; }
void attend_by_blas(const BlasAttend&) {}

}  // namespace posenc::bench
