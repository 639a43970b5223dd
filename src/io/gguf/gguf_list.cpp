// A GGUF file's table of tensors as a TensorList: GGUF's shapes name the fastest axis first, here the slowest is, as in
// NumPy. The header's checks are gguf.cpp's; quantised tensors are listed and not read.

#include <array>
#include <utility>

#include "io/gguf/gguf.h"
#include "io/gguf/gguf_types.h"
#include "io/tensors/tensor_list.h"

namespace posenc::io {
namespace {

// `other` also for numbers that are unknown here; entry_of leaves `bytes` at -1 for those.
ElementType element_type(std::uint32_t number) noexcept {
  switch (number) {
    case kGgmlF32: return ElementType::f32;
    case kGgmlF16: return ElementType::f16;
    case kGgmlBf16: return ElementType::bf16;
    case kGgmlF64: return ElementType::f64;
    case kGgmlI8: return ElementType::i8;
    case kGgmlI16: return ElementType::i16;
    case kGgmlI32: return ElementType::i32;
    case kGgmlI64: return ElementType::i64;
    default: return ElementType::other;  // blocks
  }
}

TensorEntry entry_of(GgufTensor tensor, const GgufHeader& header) {
  TensorEntry entry;
  entry.name = std::move(tensor.name);
  entry.type = element_type(tensor.type);
  entry.type_name = ggml_type_name(tensor.type);
  for (std::size_t axis = tensor.dims; axis-- > 0;) {  // ggml counts axes from the fastest
    entry.shape.push_back(static_cast<std::int64_t>(tensor.shape[axis]));
  }
  entry.strides = dense_strides(entry.shape);
  entry.offset = static_cast<std::int64_t>(header.data_offset + tensor.offset);
  entry.big_endian = header.big_endian;
  // The header's check: blocks divide rows, and the bytes are less than 2^63.
  if (const auto type = ggml_type(tensor.type)) {
    entry.bytes = static_cast<std::int64_t>(tensor.elements / type->block * type->bytes);
  }
  return entry;
}

}  // namespace

// All tensors and no keys. read_plan, through the same header reader, keeps keys and few tensors (plan/gguf/plan.cpp).
Result<TensorList> list_gguf(ByteCursor& cursor) {
  const auto none = [](std::string_view) { return false; };
  const auto all = [](std::string_view) { return true; };
  Result<GgufHeader> header =
      read_gguf_header(cursor, {.key = none, .model_key = none, .tensor = all, .most_tensors = kMaxTensors});
  if (!header) return header.error();
  TensorList list;
  for (GgufNote& note : header->notes) list.warn(note.code, note.key, std::move(note.message));
  list.tensors.reserve(header->tensors.size());
  for (GgufTensor& tensor : header->tensors) list.tensors.push_back(entry_of(std::move(tensor), *header));
  return list;
}

}  // namespace posenc::io
