// --mask: an attention mask instead of the layer's own.
#pragma once

#include <string>
#include <vector>

#include "posenc/plan.h"
#include "posenc/tensor.h"

namespace posenc::tool {

struct MaskWord {
  Mask mask{};                     // what stands in for the layer's
  std::vector<float> attn_mask{};  // of a file; 1: seen
  ConstTensorView view{};          // of those; nothing for a word
};

// causal, none, or a file. Throws Failure for a file that holds no mask for so many queries and keys.
// A file: booleans or integers, [queries, keys] or with axes for heads and batch before; not 0 where a query attends.
// It replaces the layer's mask: what it does not hide is seen.
MaskWord read_mask(const std::string& text, std::int64_t queries, std::int64_t keys);

}  // namespace posenc::tool
