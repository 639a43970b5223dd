// The readers of headers: what a file says that it holds, checked against the file's size.
//
// Each takes a cursor at the file's start, whose source can seek, and reads no data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/files/byte_cursor.h"
#include "posenc/error.h"
#include "posenc/tensor_file.h"

namespace posenc::io {

inline constexpr std::uint64_t kMaxTensors = 1'000'000;
inline constexpr std::size_t kMaxAxes = 32;
inline constexpr std::uint64_t kMaxNpyHeaderBytes = 10'000;  // NumPy's own limit

// What a reader found. `metadata` is safetensors' __metadata__; other formats leave it empty.
struct TensorList {
  std::vector<TensorEntry> tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;
  std::vector<Warning> warnings;

  // One of a code, with the first key that it was seen at.
  void warn(std::string_view code, std::string_view key, std::string message);
};

Result<TensorList> list_npy(ByteCursor& cursor, bool raw16_is_bf16);
Result<TensorList> list_npz(ByteCursor& cursor, bool raw16_is_bf16);
Result<TensorList> list_safetensors(ByteCursor& cursor);
Result<TensorList> list_gguf(ByteCursor& cursor);
Result<TensorList> list_llama2c(ByteCursor& cursor);

// The product of the sizes, none negative; nothing from 2^63 on. A size of 0 hides no absurd other: it counts as 1 for
// that bound.
std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape) noexcept;
// Of elements without gaps; element_count(shape) must have a value.
std::vector<std::int64_t> dense_strides(std::span<const std::int64_t> shape, bool fortran_order = false);
// Bytes of so many elements, of a type of known size; nothing from 2^63 on, or where a byte is not filled.
std::optional<std::int64_t> byte_count(std::int64_t elements, ElementType type) noexcept;

}  // namespace posenc::io
