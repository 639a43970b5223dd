// Bytes of a file by pread(2), from its mapping, or from the caller's memory, behind one interface. A file that shrinks
// while it is read gives an error.
#include "io/files/byte_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/formatted.h"

namespace posenc::io {

// The cursor's callback holds `this`: a source that moves, as one in a vector that grows, leaves it dangling.
ByteCursor ByteSource::cursor() const {
  if (!file_) return {memory_, name_};
  return {[this](std::uint64_t offset, char* to, std::size_t count) { return file_->read_at(offset, to, count); },
          size(), name_};
}

// mmap(2) refuses a length of 0, so an empty file stays unmapped; at_hand() is empty either way.
std::optional<FileError> ByteSource::map() {
  if (!file_ || size() == 0) return {};
  Result<MappedFile> mapping = MappedFile::map(*file_);
  if (!mapping) return mapping.error();
  mapping_.emplace(std::move(*mapping));
  return {};
}

// The range is within size(): the readers of headers checked every tensor's place against it, and memory is copied
// without another check. A file can be shorter by now, which pread(2) reports as its end.
std::optional<FileError> ByteSource::read(std::uint64_t offset, std::span<std::byte> to, std::string_view what) const {
  if (!file_) {
    std::memcpy(to.data(), memory_.data() + offset, to.size());
    return {};
  }
  std::size_t have = 0;
  while (have < to.size()) {
    const std::ptrdiff_t got =
        file_->read_at(offset + have, reinterpret_cast<char*>(to.data()) + have, to.size() - have);
    if (got > 0) {
      have += static_cast<std::size_t>(got);
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    FileError error;
    error.kind = ErrorKind::io_read;
    error.file = name_;
    error.offset = static_cast<std::int64_t>(offset + have);
    error.path = what;
    error.expected = formatted("{} bytes", to.size());
    error.got = got < 0 ? errno_text(errno) : formatted("{}: the file shrank since it was opened", have);
    return error;
  }
  return {};
}

}  // namespace posenc::io
