// The attention kernels (prefill in kernels/product_loop.h, decode in decode_loop.h, biases, mask and softmax in
// score_loop.h; linear attention) compiled for AVX2 with FMA3 and F16C (x86-64-v3): KernelTable::attention.
// src/cpu/machine/dispatch.h chooses at run time; CMakeLists.txt here has the compiler flags.
#include "kernels/isa/floats_avx2.h"
#include "kernels/score_loop.h"

namespace posenc::kernels {

constinit const AttentionKernels attention_avx2 = attention<Avx2Floats>();

}  // namespace posenc::kernels
