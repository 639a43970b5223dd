// --mask of posenc attend. A file that does not fit is exit code 4, with the flag, the file and the shape that would.
#include "attend/attend_mask.h"

#include <algorithm>
#include <cstdint>

#include "line/formatted.h"
#include "line/text.h"
#include "tensors/tensor_argument.h"

namespace posenc::tool {
namespace {

// Booleans and integers, of which any bit that is set means visible.
bool is_whole(ElementType type) {
  switch (type) {
    case ElementType::boolean:
    case ElementType::i8:
    case ElementType::u8:
    case ElementType::i16:
    case ElementType::u16:
    case ElementType::i32:
    case ElementType::u32:
    case ElementType::i64:
    case ElementType::u64: return true;
    default: return false;
  }
}

}  // namespace

MaskWord read_mask(const std::string& text, std::int64_t queries, std::int64_t keys) {
  if (text == "causal") return {.mask = {.kind = MaskKind::causal}};
  MaskWord out{.mask = {.kind = MaskKind::bidirectional}};
  if (text == "none") return out;
  const TensorWord word{.flag = "--mask", .text = text};
  const TensorArgument tensor = read_tensor_argument(word);
  const TensorData& data = tensor.data;
  if (!is_whole(data.type())) {  // a mask of floats may mean what is added: 0 where a key is seen
    refuse(word, tensor, formatted("expected booleans or integers, got {}", name(data.type())));
  }
  const std::vector<std::int64_t> shape(data.shape().begin(), data.shape().end());
  const std::size_t rank = shape.size();
  if (rank < 2 || rank > static_cast<std::size_t>(kMaxRank) || shape[rank - 1] != keys || shape[rank - 2] != queries) {
    refuse(word, tensor,
           formatted("expected {}, with or without leading axes for heads and batch, got {}",
                     shape_text({queries, keys}), shape_text(shape)));
  }
  const auto width = static_cast<std::size_t>(bits_of(data.type()) / 8);
  // Strides are the file's, in elements, so that Fortran order needs no copy of its own.
  out.view = {.dtype = DType::f32, .rank = static_cast<int>(rank)};
  for (std::size_t axis = 0; axis < rank; ++axis) {
    out.view.shape[axis] = shape[axis];
    out.view.strides[axis] = data.strides()[axis];
  }
  for (std::size_t at = 0; at < data.bytes().size(); at += width) {
    const auto element = data.bytes().subspan(at, width);
    out.attn_mask.push_back(std::ranges::any_of(element, [](std::byte b) { return b != std::byte{}; }) ? 1.0F : 0.0F);
  }
  out.view.data = out.attn_mask.data();
  return out;
}

}  // namespace posenc::tool
