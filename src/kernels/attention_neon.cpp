// The attention kernels (prefill, decode, biases, mask, softmax; linear attention) of kernels/score_loop.h and the
// headers that it includes, compiled for NEON (every AArch64): KernelTable::attention. src/cpu/machine/dispatch.h
// chooses at run time; CMakeLists.txt here has the compiler flags.
#include "kernels/isa/floats_neon.h"
#include "kernels/score_loop.h"

namespace posenc::kernels {

constinit const AttentionKernels attention_neon = attention<NeonFloats>();

}  // namespace posenc::kernels
