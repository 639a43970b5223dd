// Gradients of the matrix of biases that a caller gives (LayerInputs::bias): those of the scores that each was added
// to, summed along axes of 1.
#pragma once

#include "cpu/attend/attend_call.h"
#include "cpu/attend/key_tile.h"
#include "cpu/attend/lane_block.h"

namespace posenc::cpu {

// x += d, [keys][lanes]; x: up to [batch, heads, queries, keys], as LayerInputs::bias is.
void add_to_bias(const AttendCall& call, const TensorView& x, const LaneBlock& block, const KeyTile& tile,
                 const float* d);

// Whether several heads, members of the batch, queries or keys share an element.
bool is_shared(const AttendCall& call, const TensorView& x);

// f32 or f64: x[place] += by, and all of it 0.
void add_to(const TensorView& x, std::int64_t offset, double by);
void clear(const TensorView& x);

}  // namespace posenc::cpu
