// A regular file's bytes as memory, read-only.
//
// Bytes beyond an end that another process moved raise SIGBUS when they are touched; up to the end of that page they
// read as zeros. Nothing here guards against it: who maps has been told (tensor_file.h).
#pragma once

#include <string_view>

#include "io/files/regular_file.h"
#include "posenc/error.h"

namespace posenc::io {

class MappedFile {
 public:
  // All of the file, which must not be empty. A file whose size is no longer what it was when it was opened is
  // ErrorKind::io_read.
  static Result<MappedFile> map(const RegularFile& file);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::string_view bytes() const noexcept { return bytes_; }

 private:
  explicit MappedFile(std::string_view bytes) : bytes_(bytes) {}
  std::string_view bytes_;
};

}  // namespace posenc::io
