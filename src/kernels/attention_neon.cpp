#include "kernels/floats_neon.h"
#include "kernels/score_loop.h"

namespace posenc::kernels {

constinit const AttentionKernels attention_neon = attention<NeonFloats>();

}  // namespace posenc::kernels
