// Queries, keys and values of a file: read, held against the layer that is to take them, and seen in the order of axes
// that rotate and attend take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "line/command_line.h"
#include "posenc/tensor.h"
#include "tensors/tensor_argument.h"

namespace posenc::tool {

// What a layer takes.
struct HeadsWanted {
  std::string_view kind;   // "query head"
  std::int64_t heads = 0;  // 0: not known
  std::int64_t channels = 0;
};

struct HeadsTensor {
  TensorArgument source;
  std::vector<std::byte> dense;  // the elements in C order, where the file has them in another
  TensorView stored{};           // in the order of the file's axes
  TensorView heads{};            // as [tokens, heads, head_dim] or [batch, heads, tokens, head_dim]
  TensorLayout layout{};
};

// Throws Failure for what cannot be read, is of another type than f32, f16 and bf16, or does not fit the layer. Without
// a layout it is told by the number of axes.
HeadsTensor read_heads(const TensorWord& word, std::optional<TensorLayout> layout, const HeadsWanted& wanted,
                       const std::string& layer_name);

// Throws Failure where queries and keys do not have the same layout, sequences and tokens.
void check_together(const HeadsTensor& q, const HeadsTensor& k);

// A tensor in the order of a file's axes, seen as [tokens, heads, channels] or [batch, heads, tokens, channels]; and
// the same without channels.
TensorView in_order(const TensorView& stored, TensorLayout layout);
// Elements that lie one after another, of that shape.
TensorView c_view(void* data, DType dtype, const std::vector<std::int64_t>& shape);

std::string name(TensorLayout layout);
std::vector<std::int64_t> shape_of(const TensorView& view);

}  // namespace posenc::tool
