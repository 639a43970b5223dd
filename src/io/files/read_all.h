// The loop that reads a file to its end, apart from the system calls, so that tests can make every call fail: EINTR,
// short reads, a file that shrinks or goes on for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "posenc/error.h"

namespace posenc::io {

// As read(2): bytes read, 0 at the end, -1 with errno set.
using ReadSome = std::function<std::ptrdiff_t(char* to, std::size_t count)>;

// Reads until the end, but not beyond max_bytes (ErrorKind::limit). EINTR and short reads are retried. `size` is what
// the file system said, 0 where it does not know: coming to the end before it is ErrorKind::io_read. Memory follows
// what is read, not `size`. In errors, `offset` is where the reading failed, and the file is not named.
Result<std::string> read_all(const ReadSome& read_some, std::int64_t size, std::int64_t max_bytes);

// The system's words for an errno. Thread-safe, which strerror is not.
std::string errno_text(int number);

}  // namespace posenc::io
