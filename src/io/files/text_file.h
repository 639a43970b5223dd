// Reads a whole regular file, bounded: configs and indices, whose size is known to be small.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "io/files/regular_file.h"
#include "posenc/error.h"

namespace posenc::io {

// EINTR and short reads are retried; a file that shrinks while it is read is ErrorKind::io_read, one of more than
// max_bytes ErrorKind::limit. The text is as the file has it: a byte order mark and line ends stay.
Result<std::string> read_text_file(const RegularFile& file, std::int64_t max_bytes);
Result<std::string> read_text_file(const std::filesystem::path& path, std::int64_t max_bytes);

}  // namespace posenc::io
