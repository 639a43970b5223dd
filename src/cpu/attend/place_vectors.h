// Vectors of places as floats, projected by the kernel that attention multiplies with. Each number is then off by at
// most width roundings of |W_h| |x|, as the products with queries are off by head_dim of theirs.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/attention.h"
#include "math/primitives.h"
#include "posenc/parallel.h"
#include "posenc/tensor.h"

namespace posenc::cpu {

// out_h[n] = W_h rows[n] + b_h, of all heads.
struct HeadProjection {
  std::int64_t heads = 0;
  std::int64_t channels = 0;      // of a head
  std::int64_t width = 0;         // of rows
  const float* weight = nullptr;  // [heads * channels, width]
  const float* bias = nullptr;    // [heads * channels], or null
};
// out: [heads], head_stride apart, of [count, channels].
void project(const kernels::AttentionKernels& kernels, const Parallel& parallel, const HeadProjection& by,
             const float* rows, std::int64_t count, float* out, std::int64_t head_stride);

// All elements, the last axis fastest. Nothing of an empty view.
std::vector<float> floats_of(const ConstTensorView& view);

// [heads or 1, count, channels]
std::vector<float> floats_of(const math::PlaceVectors& vectors, std::int64_t heads, std::int64_t channels,
                             const kernels::AttentionKernels& kernels, const Parallel& parallel);

}  // namespace posenc::cpu
