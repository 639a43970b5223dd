// What a rank is given and what it writes: shapes, strides, memory.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "posenc/plan.h"
#include "posenc/tensor.h"

namespace posenc::mpi_library {

// Throws Error for a tensor that is not of that shape, has no memory, or whose last axis is not adjacent; of heads, for
// one of f64 too.
void check_shape(const char* where, const char* field, const ConstTensorView& x, std::span<const std::int64_t> shape);
void check_heads(const char* where, const char* field, const ConstTensorView& x, std::span<const std::int64_t> shape);
// out and lse of so many queries; lse may be omitted.
void check_written(const char* where, const LayerPlan& layer, const TensorView& out, const TensorView& lse,
                   std::int64_t queries);

using Named = std::pair<const char*, ConstTensorView>;
// Throws Error where one that is written shares memory with another, or with one that is read, from its first element
// to its last: what is computed of a part is written while others are still read, or sent.
void check_apart(const char* where, std::span<const Named> written, std::span<const Named> read);

}  // namespace posenc::mpi_library
