// Reads to the end of a file with EINTR and short reads retried, and one byte more than the limit to notice a larger
// one.
#include "io/files/read_all.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/formatted.h"

namespace posenc::io {
namespace {

// Bytes by which the buffer grows: the file system's size is a hint that may be wrong (0 in /proc), and is not
// allocated.
constexpr std::size_t kChunk = std::size_t{1} << 20;

// strerror_r is of two kinds: GNU's returns the text, POSIX's fills the buffer and returns a status.
[[maybe_unused]] const char* chosen(const char* text, const char*) { return text; }
[[maybe_unused]] const char* chosen(int status, const char* buffer) { return status == 0 ? buffer : "unknown error"; }

FileError failure(ErrorKind kind, std::size_t offset, std::string expected, std::string got) {
  FileError error;
  error.kind = kind;
  error.offset = static_cast<std::int64_t>(offset);
  error.expected = std::move(expected);
  error.got = std::move(got);
  return error;
}

}  // namespace

std::string errno_text(int number) {
  std::array<char, 256> buffer{};
  return chosen(strerror_r(number, buffer.data(), buffer.size()), buffer.data());
}

Result<std::string> read_all(const ReadSome& read_some, std::int64_t size, std::int64_t max_bytes) {
  const auto cap = static_cast<std::size_t>(std::max<std::int64_t>(max_bytes, 0));
  const auto promised = static_cast<std::size_t>(std::max<std::int64_t>(size, 0));
  std::string out;
  std::size_t have = 0;
  for (;;) {
    // One byte more than allowed tells a file of the largest size from one that goes on.
    if (have == out.size()) out.resize(have + std::min(kChunk, cap - have + 1));
    const std::ptrdiff_t count = read_some(out.data() + have, out.size() - have);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(ErrorKind::io_read, have, "to read on", errno_text(errno));
    if (count == 0) break;
    have += static_cast<std::size_t>(count);
    if (have > cap) {
      return failure(ErrorKind::limit, cap, formatted("at most {} bytes", max_bytes), "more");
    }
  }
  if (have < promised) {
    return failure(ErrorKind::io_read, have, formatted("{} bytes", promised),
                   formatted("{}: the file shrank while it was read", have));
  }
  out.resize(have);
  return out;
}

}  // namespace posenc::io
