// CUDA's words as plain C++, so that g++ compiles an emitted .cu file and its kernels run on the processor: a kernel is a
// function, called once for each thread with threadIdx set (emitted.py).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#define __global__ static
#define __device__ static inline
#define __constant__ static const

struct ThreadPlace {
  unsigned x = 0, y = 0, z = 0;
};
static ThreadPlace blockIdx, blockDim, threadIdx;

using std::max;
using std::min;

static inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
static inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
