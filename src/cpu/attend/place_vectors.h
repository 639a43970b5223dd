// Vectors of places as floats, projected by the kernel that attention multiplies with. Each number is then off by at
// most width roundings of |W_h| |x|, as the products with queries are off by head_dim of theirs.
#pragma once

#include <cstdint>
#include <span>
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

// All elements of a view, the last axis fastest: the caller's where they lie so and are floats, which a layer's weights
// mostly do, and are too many to be copied. Null of an empty view.
class DenseFloats {
 public:
  explicit DenseFloats(const ConstTensorView& view);
  DenseFloats(const DenseFloats&) = delete;
  DenseFloats& operator=(const DenseFloats&) = delete;
  const float* data() const { return data_; }
  std::int64_t count() const { return count_; }

 private:
  std::int64_t count_ = 0;
  const float* data_ = nullptr;
  std::vector<float> copy_;
};

// All elements, the last axis fastest. Nothing of an empty view.
std::vector<float> floats_of(const ConstTensorView& view);

// Rows of a table from the first that occurs to the last: under a causal mask, half of DeBERTa's.
struct PlaceSpan {
  std::int64_t low = 0;
  std::int64_t high = -1;  // below low: none

  std::int64_t count() const { return high - low + 1; }
};
PlaceSpan both(const PlaceSpan& a, const PlaceSpan& b);   // and what lies between
PlaceSpan span_of(std::span<const std::int32_t> places);  // -1: none

// [heads or 1, count, channels]; where they are projected, zeros outside of the span.
std::vector<float> floats_of(const math::PlaceVectors& vectors, const PlaceSpan& span, std::int64_t heads,
                             std::int64_t channels, const kernels::AttentionKernels& kernels, const Parallel& parallel);

}  // namespace posenc::cpu
