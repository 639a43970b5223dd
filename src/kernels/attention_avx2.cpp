#include "kernels/floats_avx2.h"
#include "kernels/score_loop.h"

namespace posenc::kernels {

constinit const AttentionKernels attention_avx2 = attention<Avx2Floats>();

}  // namespace posenc::kernels
