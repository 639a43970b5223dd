// Reads a whole regular file, bounded, without following it into a hang: pipes and devices are refused before reading.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "posenc/error.h"

namespace posenc::io {

// EINTR and short reads are retried; a file that shrinks while it is read is ErrorKind::io_read.
Result<std::string> read_text_file(const std::filesystem::path& path, std::int64_t max_bytes);

}  // namespace posenc::io
