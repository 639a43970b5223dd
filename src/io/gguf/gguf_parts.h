// The two parts of a GGUF header, for gguf.cpp: the metadata (gguf_values.cpp) and the table of tensors
// (gguf_tensors.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/files/byte_cursor.h"
#include "io/gguf/gguf.h"

namespace posenc::io {

// What both parts write to. After a failure of the cursor the header is void.
struct GgufReading {
  ByteCursor& cursor;
  const GgufKeep& keep;
  GgufHeader header;

  // Version 1 has u32 where later ones have u64: counts, lengths of strings and arrays, dimensions.
  bool narrow() const noexcept { return header.version == 1; }  // counts and lengths of 32 bits
  std::uint64_t length(std::string_view what) { return narrow() ? cursor.u32(what) : cursor.u64(what); }
  std::uint64_t length_bytes() const noexcept { return narrow() ? 4 : 8; }
  // Keeps the first of each code.
  void note(std::string_view code, std::string_view key, std::string message);
};

// header.version, big_endian and the counts are set by gguf.cpp before either is called.
void read_gguf_values(GgufReading& reading);
// Once the values are read: the alignment is among them.
void read_gguf_tensors(GgufReading& reading);

// Whether a name has no NUL, no control characters and is UTF-8.
bool is_clean_gguf_name(std::string_view name) noexcept;

}  // namespace posenc::io
