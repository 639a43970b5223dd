// The types of GGUF's values and of ggml's tensors, by number: names, sizes and blocks (ggml's docs/gguf.md, ggml.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/gguf/gguf.h"

namespace posenc::io {

// Nothing from 13 on: without its type a value's length is unknown, and nothing behind it can be read.
std::optional<GgufType> gguf_type(std::uint32_t number) noexcept;
// Bytes of one value; 0 for strings and arrays.
std::uint64_t gguf_size(GgufType type) noexcept;

// A row of `block` numbers takes `bytes`. Quantised types have blocks of many numbers.
struct GgmlType {
  std::uint32_t number;
  std::string_view name;
  std::uint64_t block;
  std::uint64_t bytes;
};
inline constexpr std::uint32_t kGgmlF32 = 0;
inline constexpr std::uint32_t kGgmlF16 = 1;
inline constexpr std::uint32_t kGgmlI8 = 24;
inline constexpr std::uint32_t kGgmlI16 = 25;
inline constexpr std::uint32_t kGgmlI32 = 26;
inline constexpr std::uint32_t kGgmlI64 = 27;
inline constexpr std::uint32_t kGgmlF64 = 28;
inline constexpr std::uint32_t kGgmlBf16 = 30;

// Nothing for a number that is unknown here: types come and go.
std::optional<GgmlType> ggml_type(std::uint32_t number) noexcept;
// "F32", or "unknown(4)".
std::string ggml_type_name(std::uint32_t number);

}  // namespace posenc::io
