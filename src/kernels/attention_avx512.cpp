// The attention kernels (prefill, decode, biases, mask, softmax; linear attention) of kernels/score_loop.h and the
// headers that it includes, compiled for AVX-512 F, DQ, VL and BW (x86-64-v4): KernelTable::attention.
// src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the compiler flags.
#include "kernels/isa/floats_avx512.h"
#include "kernels/score_loop.h"

namespace posenc::kernels {

constinit const AttentionKernels attention_avx512 = attention<Avx512Floats>();

}  // namespace posenc::kernels
