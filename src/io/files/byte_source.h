// Where a file's bytes are: in memory that the caller keeps, or in a regular file, read by pread(2) or mapped by
// mmap(2). The readers of tensor files are written over it once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/files/byte_cursor.h"
#include "io/files/mapped_file.h"
#include "io/files/regular_file.h"
#include "posenc/error.h"

namespace posenc::io {

class ByteSource {
 public:
  ByteSource(std::string_view bytes, std::string name) : name_(std::move(name)), memory_(bytes) {}
  explicit ByteSource(RegularFile file) : name_(file.name()), file_(std::move(file)) {}

  const std::string& name() const noexcept { return name_; }
  std::uint64_t size() const noexcept {
    return file_ ? static_cast<std::uint64_t>(file_->size()) : std::uint64_t{memory_.size()};
  }
  // From the start; the source must outlive the cursor and stay where it is.
  ByteCursor cursor() const;

  // Makes a file's bytes part of memory.
  std::optional<FileError> map();
  // What can be looked at without reading: all of memory, or of the mapping; nothing of a file that is not mapped.
  std::string_view at_hand() const noexcept { return mapping_ ? mapping_->bytes() : memory_; }

  // Fills `to` from `offset` on. `what` names the bytes in the error.
  std::optional<FileError> read(std::uint64_t offset, std::span<std::byte> to, std::string_view what) const;

 private:
  std::string name_;
  // Of a file `memory_` is empty, and `mapping_` is there once map() was called.
  std::string_view memory_;
  std::optional<RegularFile> file_;
  std::optional<MappedFile> mapping_;
};

}  // namespace posenc::io
