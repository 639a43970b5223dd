// Bounded reads of a binary format: every length is checked against the limit and, where it is known, the size of the
// source before memory is taken, so a hostile count costs nothing. Errors name the byte, what was wanted and what came.
#include "io/files/byte_cursor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/formatted.h"

namespace posenc::io {
namespace {

// Bytes of a file or a stream that are in memory at a time.
constexpr std::size_t kBlock = std::size_t{1} << 16;

std::string bytes_for(std::uint64_t count, std::string_view what) {
  return formatted("{} byte{} for {}", count, count == 1 ? "" : "s", what);
}

}  // namespace

ByteCursor::ByteCursor(std::string_view bytes, std::string file)
    : file_(std::move(file)), size_(bytes.size()), window_(bytes) {}

ByteCursor::ByteCursor(ReadAt read_at, std::uint64_t size, std::string file)
    : read_at_(std::move(read_at)), file_(std::move(file)), size_(size), block_(kBlock, '\0') {}

ByteCursor::ByteCursor(ReadSome read_some, std::string file)
    : read_some_(std::move(read_some)), file_(std::move(file)), block_(kBlock, '\0') {}

std::optional<std::uint64_t> ByteCursor::remaining() const noexcept {
  if (!size_) return {};
  return *size_ - std::min(*size_, position());
}

void ByteCursor::fail(ErrorKind kind, std::uint64_t offset, std::string path, std::string expected, std::string got,
                      std::string detail) {
  if (error_) return;
  FileError error;
  error.kind = kind;
  error.file = file_;
  error.offset = static_cast<std::int64_t>(std::min<std::uint64_t>(offset, INT64_MAX));
  error.path = std::move(path);
  error.expected = std::move(expected);
  error.got = std::move(got);
  error.detail = std::move(detail);
  error_ = std::move(error);
}

void ByteCursor::fail_truncated(std::uint64_t begin, std::uint64_t wanted, std::uint64_t have, std::string_view what) {
  fail(ErrorKind::truncated, begin, {}, bytes_for(wanted, what), formatted("{}", have),
       size_ ? formatted("the file ends at byte {}", *size_) : "the stream ends there");
}

// Whether `count` bytes from here on are within the limit and, where the size is known, within the source.
bool ByteCursor::want(std::uint64_t count, std::string_view what) {
  if (error_) return false;
  const std::optional<std::uint64_t> have = remaining();
  if (have && count > *have) {
    fail_truncated(position(), count, *have, what);
    return false;
  }
  const std::optional<std::uint64_t> end = checked_add(position(), count);
  if (end && *end <= limit_) return true;
  fail(ErrorKind::limit, position(), {}, formatted("a header of at most {} bytes", limit_),
       formatted("{} more", bytes_for(count, what)));
  return false;
}

// A read that gives less than was asked is taken as it comes, and EINTR is retried. Where the size was promised, an
// early end is an error of the source; a stream that ends only makes the read fail that wanted more.
bool ByteCursor::refill() {
  if (block_.empty()) return false;
  window_begin_ += at_;
  at_ = 0;
  window_ = {};
  std::size_t room = block_.size();
  if (size_) room = static_cast<std::size_t>(std::min<std::uint64_t>(room, *size_ - window_begin_));
  if (room == 0) return false;
  for (;;) {
    const std::ptrdiff_t got =
        read_some_ ? read_some_(block_.data(), room) : read_at_(window_begin_, block_.data(), room);
    if (got > 0) {
      window_ = std::string_view(block_).substr(0, std::min(static_cast<std::size_t>(got), room));
      return true;
    }
    if (got == 0) {
      if (size_) {
        fail(ErrorKind::io_read, window_begin_, {}, formatted("{} bytes", *size_),
             formatted("{}: the file shrank while it was read", window_begin_));
      }
      return false;
    }
    if (errno == EINTR) continue;
    fail(ErrorKind::io_read, window_begin_, {}, "to read on", errno_text(errno));
    return false;
  }
}

// The text grows with the bytes that arrive and not by `count` at once: of a stream, whose size nobody knows, a hostile
// length costs what was really sent.
std::string ByteCursor::text(std::size_t count, std::string_view what) {
  const std::uint64_t begin = position();
  if (!want(count, what)) return {};
  std::string out;
  while (out.size() < count) {
    if (at_ == window_.size() && !refill()) {
      fail_truncated(begin, count, out.size(), what);
      return {};
    }
    const std::string_view part = window_.substr(at_, count - out.size());
    out += part;
    at_ += part.size();
  }
  return out;
}

// An unsigned number of 1 to 8 bytes. The first branch is the fast path: all bytes are in the window and no error or
// limit stands in the way. text() handles the rest: a number across two blocks, the end, the limit.
std::uint64_t ByteCursor::number(std::size_t bytes, std::string_view what) {
  char raw[8] = {};
  if (window_.size() - at_ >= bytes && !error_ && position() + bytes <= limit_) {
    std::memcpy(raw, window_.data() + at_, bytes);
    at_ += bytes;
  } else {
    const std::string slow = text(bytes, what);
    if (slow.size() != bytes) return 0;
    std::memcpy(raw, slow.data(), bytes);
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::size_t place = big_endian_ ? bytes - 1 - i : i;
    value |= std::uint64_t{static_cast<unsigned char>(raw[i])} << (8 * place);
  }
  return value;
}

// Memory is skipped within its window, a file by moving the window without a read, a stream by reading what is passed
// over.
void ByteCursor::skip(std::uint64_t count, std::string_view what) {
  const std::uint64_t begin = position();
  if (!want(count, what)) return;
  std::uint64_t left = count;
  for (;;) {
    const std::uint64_t step = std::min<std::uint64_t>(left, window_.size() - at_);
    at_ += static_cast<std::size_t>(step);
    left -= step;
    if (left == 0) return;
    if (can_seek()) {
      window_begin_ = position() + left;
      window_ = {};
      at_ = 0;
      return;
    }
    if (refill()) continue;
    fail_truncated(begin, count, count - left, what);
    return;
  }
}

// The window of memory is all of it and begins at byte 0, so there the position is the place in the window.
void ByteCursor::seek(std::uint64_t position, std::string_view what) {
  if (error_) return;
  if (!size_ || position > *size_) {
    fail(ErrorKind::truncated, position, {}, std::string(what), size_ ? "the end of the file" : "a stream");
    return;
  }
  if (read_at_) {
    window_ = {};
    window_begin_ = position;
    at_ = 0;
  } else {
    at_ = static_cast<std::size_t>(position);
  }
}

}  // namespace posenc::io
