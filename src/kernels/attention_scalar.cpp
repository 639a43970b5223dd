#include "kernels/floats_scalar.h"
#include "kernels/score_loop.h"

namespace posenc::kernels {

constinit const AttentionKernels attention_scalar = attention<ScalarFloats>();

}  // namespace posenc::kernels
