// Views of the tensors of vectors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "posenc/vectors.h"

namespace posenc::inline v0_2::golden {

// Dense, of f64. Of more than kMaxRank axes there is none: make_vectors makes none, read_vectors refuses them.
inline ConstTensorView view(const VectorTensor& x) { return tensor(x.values.data(), DType::f64, x.shape); }

inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace posenc::inline v0_2::golden
