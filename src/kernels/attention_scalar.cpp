// The attention kernels (prefill, decode, biases, mask, softmax; linear attention) of kernels/score_loop.h and the
// headers that it includes, compiled for plain C++, for machines without any of the others and as the judge of them in
// tests: KernelTable::attention. src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the compiler
// flags.
#include "kernels/isa/floats_scalar.h"
#include "kernels/score_loop.h"

namespace posenc::kernels {

constinit const AttentionKernels attention_scalar = attention<ScalarFloats>();

}  // namespace posenc::kernels
