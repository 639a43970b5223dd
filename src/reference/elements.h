// Elements of tensors as doubles, one at a time, by the definition of their format.
#pragma once

#include <array>
#include <cstdint>

#include "posenc/tensor.h"

namespace posenc::reference {

// The element `offset` elements after view.data.
double read(const ConstTensorView& view, std::int64_t offset);

}  // namespace posenc::reference
