#include "kernels/floats_avx512.h"
#include "kernels/score_loop.h"

namespace posenc::kernels {

constinit const AttentionKernels attention_avx512 = attention<Avx512Floats>();

}  // namespace posenc::kernels
