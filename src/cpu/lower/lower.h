// A layer's schemes as primitives (src/math/primitives.h), which is all that the kernels of attention know.
//
//   rotation       cpu/lower/lower_rotation.cpp      RoPE of every rule, xPos; regions
//   by distance    cpu/lower/lower_by_distance.cpp   ALiBi, T5, clipped, window, KERPLE, FIRE, Sandwich, perceptron
//   by content     cpu/lower/lower_by_content.cpp    Shaw, Transformer-XL, XLNet, DeBERTa, rows and columns
//   along the row  cpu/lower/lower_along_row.cpp     CoPE, forget gates
//   values         cpu/lower/lower_values.cpp        Shaw, rotated values
//
// reference::attend_lowered gives from the primitives what reference::attend gives by the formulas.
#pragma once

#include <vector>

#include "math/call_rows.h"
#include "math/primitives.h"
#include "posenc/attention.h"
#include "posenc/plan.h"

namespace posenc::cpu {

// Of all tables of one term, in bytes.
inline constexpr std::int64_t kMaxTableBytes = std::int64_t{1} << 30;

// The plan, the weights and the inputs have been checked as reference::attend checks them. Throws Error, too, for what
// a table by distance cannot hold: distances that are not whole, or so many that the table would pass kMaxTableBytes;
// and for forget gates whose sums are not finite. Rotations and ALiBi take any coordinates.
//
// What it allocates grows with the rows and the distances that occur, never with their product.
math::Lowered lower(const LayerPlan& layer, const LayerWeights& weights, const LayerInputs& inputs,
                    const math::CallSizes& sizes);

// Whole distances i - j from `low` to `high`, both included.
struct DistanceRange {
  std::int64_t low;
  std::int64_t high;

  std::int64_t count() const { return high - low + 1; }
};

// The same terms, in the same order, without a row: of distances in that range, where a call has those that occur.
std::vector<math::Term> lower_terms(const LayerPlan& layer, const LayerWeights& weights, DistanceRange within);

}  // namespace posenc::cpu
