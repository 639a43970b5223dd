// The transpose of a projection of rows (attend/place_vectors.h), E_h[n] = W_h x[n] + b_h of every head h: from the
// gradients G of E,
//
//   dW_h = G_h^T x,   db_h = sum_n G_h[n],   dx = sum_h G_h W_h       of several projections of the same rows the sum
//
// in tasks of as many outputs as stay in L2, of which each number is of one task: the same for any number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpu/attend/place_vectors.h"
#include "cpu/backward/backward_call.h"

namespace posenc::cpu {

struct BackProjection {
  const Linear& by;
  const float* gradients;  // of E: [heads], head_stride apart, of [rows][key_width]
  std::int64_t head_stride;
  TensorView d_weight{};  // written; empty: not asked for
  TensorView d_bias{};
};

// rows: x, [rows, width]. Of rows outside of the span gradients are 0. d_rows may be empty.
void project_back(const BackwardCall& backward, const ConstTensorView& rows, const PlaceSpan& span,
                  std::span<const BackProjection> projections, const TensorView& d_rows);

}  // namespace posenc::cpu
