// The rows of one call of attention: which belong to one sequence (of a batch, or packed by cu_seqlens), and where each
// token is, by position for the schemes and by order for the masks. Used by reference::attend and by src/cpu/lower.
#pragma once

#include <cstdint>
#include <vector>

#include "math/primitives.h"
#include "posenc/attention.h"

namespace posenc::math {

// Rank 3: batch 1, and all tokens, packed sequences (LayerInputs::cu_seqlens_q) among them. Rank 4: of one sequence.
struct CallSizes {
  std::int64_t batch = 1;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  bool operator==(const CallSizes&) const = default;
};

struct SequenceRows {
  std::int64_t q_first;
  std::int64_t q_count;
  std::int64_t k_first;
  std::int64_t k_count;
};

struct CallRows {
  std::vector<SequenceRows> sequences;
  std::int64_t queries = 0;  // of all sequences
  std::int64_t keys = 0;
  std::vector<std::int64_t> q_order;  // [queries]
  std::vector<std::int64_t> k_order;  // [keys]
  std::vector<Coordinate> axes;
};

// With as many axes as the layer has coordinates. The inputs have been checked.
CallRows call_rows(const LayerPlan& layer, const LayerInputs& inputs, const CallSizes& sizes);

}  // namespace posenc::math
