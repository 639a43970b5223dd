// A whole text file as a string: config.json, index files and the like, bounded by the caller's limit.
#include "io/files/text_file.h"

#include "base/formatted.h"
#include "io/files/read_all.h"

namespace posenc::io {

// A size that is known to be too large is refused before a byte is read; read_all() refuses what grew since.
Result<std::string> read_text_file(const RegularFile& file, std::int64_t max_bytes) {
  FileError error;
  if (file.size() > max_bytes) {
    error.kind = ErrorKind::limit;
    error.expected = formatted("at most {} bytes", max_bytes);
    error.got = formatted("{}", file.size());
  } else {
    const auto read_some = [&](char* to, std::size_t count) { return file.read(to, count); };
    Result<std::string> text = read_all(read_some, file.size(), max_bytes);
    if (text.ok()) return text;
    error = text.error();
  }
  error.file = file.name();
  return error;
}

Result<std::string> read_text_file(const std::filesystem::path& path, std::int64_t max_bytes) {
  const Result<RegularFile> file = RegularFile::open(path);
  if (!file) return file.error();
  return read_text_file(*file, max_bytes);
}

}  // namespace posenc::io
