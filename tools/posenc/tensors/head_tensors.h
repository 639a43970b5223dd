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
  // How the command line has the axes: in that order, or with so many heads side by side on the last. `first`: the
  // heads that --heads counts are this tensor's, and not those of another.
  std::optional<TensorLayout> layout{};
  std::optional<std::int64_t> joined_heads{};
  bool first = true;
};

// The views are of what `source` or `dense` owns on the heap: they stay valid when it moves.
struct HeadsTensor {
  TensorArgument source;
  std::vector<std::byte> dense;  // the elements in C order, where the file has them in another, or in f64
  TensorView stored{};           // in the order of the file's axes
  TensorView split{};            // the same, with an axis for heads where the file has none
  TensorView heads{};            // as [tokens, heads, head_dim] or [batch, heads, tokens, head_dim]
  TensorLayout layout{};
  std::optional<TensorLayout> other_layout{};  // fits as well; only where none was asked for
};

// Throws Failure for what cannot be read, is of another type than f32, f16, bf16 and f64, or does not fit the layer.
// Without a layout it is told by the number of axes. f64 becomes f32.
HeadsTensor read_heads(const TensorWord& word, const HeadsWanted& wanted, const std::string& layer_name);

// Throws Failure where queries and keys do not have the same layout, sequences and tokens.
void check_together(const HeadsTensor& q, const HeadsTensor& k);

// A tensor in the order of a file's axes, seen as [tokens, heads, channels] or [batch, heads, tokens, channels]; and
// the same without channels.
TensorView in_order(const TensorView& stored, TensorLayout layout);

// "f64 in the file" where another dtype is used; else nothing.
std::string stored_type_text(const HeadsTensor& tensor);

std::string name(TensorLayout layout);
std::vector<std::int64_t> shape_of(const TensorView& view);

}  // namespace posenc::tool
