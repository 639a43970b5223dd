// mmap(2) of a whole regular file, read-only and private; unmapped with the object.
#include "io/files/mapped_file.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "base/formatted.h"
#include "io/files/read_all.h"

namespace posenc::io {

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

// The header was checked against the size at opening. Another size by now is refused here: data beyond a moved end
// would raise SIGBUS later. What changes after this check is not noticed.
Result<MappedFile> MappedFile::map(const RegularFile& file) {
  FileError error;
  error.kind = ErrorKind::io_read;
  error.file = file.name();
  const Result<std::int64_t> size = file.size_now();
  if (!size) return size.error();
  if (*size != file.size()) {
    error.expected = formatted("{} bytes", file.size());
    error.got = formatted("{}: the file changed since it was opened", *size);
    return error;
  }
  const auto length = static_cast<std::size_t>(*size);
  void* const begin = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (begin == MAP_FAILED) {
    error.expected = "a file that can be mapped";
    error.got = errno_text(errno);
    return error;
  }
  return MappedFile({static_cast<const char*>(begin), length});
}

}  // namespace posenc::io
