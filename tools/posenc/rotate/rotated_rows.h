// RoPE applied to tensors piece by piece, so that a long run can show its progress. A row's result does not depend on
// the pieces (rotate.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "posenc/info.h"
#include "posenc/parallel.h"
#include "posenc/tensor.h"
#include "rotate/rotation_error.h"
#include "tensors/row_positions.h"

namespace posenc::tool {

// Queries and keys that are rotated together: the same batch and tokens. Either may be empty.
struct RotatedTensors {
  TensorView q{};
  TensorView k{};
};

std::int64_t batch_of(const RotatedTensors& tensors);
std::int64_t tokens_of(const RotatedTensors& tensors);
// Elements of a token; 0 of no tensor.
std::int64_t row_values(const TensorView& x);

// What rotates them.
struct RotatedWith {
  Parallel parallel{};
  Isa isa = Isa::automatic;
};

// Rotates all rows in place; `done` is told after each piece how many rows of how many are.
// With a table on demand, since positions may be far apart and need not be whole. Throws Error for a rule or positions
// that no table serves.
void rotate_rows(const RotatedTensors& tensors, const RotationAsked& rotation, const RowPositions& positions,
                 const std::function<void(std::int64_t rows, std::int64_t all)>& done, const RotatedWith& with = {});

}  // namespace posenc::tool
