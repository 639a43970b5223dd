// Reads a binary format from its start, each read checked: from memory, from a file of any size, or from a stream.
//
// The first failure sticks: from then on every read gives 0 or nothing, and error() says what was wanted, where, and
// how much came. A file is read in blocks of 64 KiB; skipping in it costs nothing, skipping in a stream reads along.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "io/files/read_all.h"
#include "posenc/error.h"

namespace posenc::io {

// As pread(2): bytes read at `offset`, 0 at the end, -1 with errno set.
using ReadAt = std::function<std::ptrdiff_t(std::uint64_t offset, char* to, std::size_t count)>;

class ByteCursor {
 public:
  // `file` names the source in errors. The bytes must outlive the cursor.
  ByteCursor(std::string_view bytes, std::string file);
  // A file of `size` bytes; read_at is called with ranges below `size` only.
  ByteCursor(ReadAt read_at, std::uint64_t size, std::string file);
  // A stream: its size is not known, and nothing behind the last read is waited for.
  ByteCursor(ReadSome read_some, std::string file);
  ByteCursor(const ByteCursor&) = delete;
  ByteCursor& operator=(const ByteCursor&) = delete;

  std::uint64_t position() const noexcept { return window_begin_ + at_; }
  // Of the whole source; nothing for a stream.
  std::optional<std::uint64_t> size() const noexcept { return size_; }
  // Up to the end; nothing for a stream.
  std::optional<std::uint64_t> remaining() const noexcept;
  bool can_seek() const noexcept { return !read_some_; }

  // How numbers are stored from here on.
  void set_big_endian(bool big) noexcept { big_endian_ = big; }

  // `what` is what the bytes are, for the error: "the length of a key".
  std::uint8_t u8(std::string_view what) { return static_cast<std::uint8_t>(number(1, what)); }
  std::uint16_t u16(std::string_view what) { return static_cast<std::uint16_t>(number(2, what)); }
  std::uint32_t u32(std::string_view what) { return static_cast<std::uint32_t>(number(4, what)); }
  std::uint64_t u64(std::string_view what) { return number(8, what); }
  // The caller bounds `count`: so much is allocated.
  std::string text(std::size_t count, std::string_view what);
  void skip(std::uint64_t count, std::string_view what);
  // To a place from the start; on a source that can seek.
  void seek(std::uint64_t position, std::string_view what);

  // Reads beyond this offset fail with ErrorKind::limit: a header cannot go on for ever.
  void set_limit(std::uint64_t offset) noexcept { limit_ = offset; }

  bool failed() const noexcept { return error_.has_value(); }
  const FileError& error() const { return *error_; }
  // Keeps the first error; `offset` is where it stands.
  void fail(ErrorKind kind, std::uint64_t offset, std::string path, std::string expected, std::string got,
            std::string detail = {});

 private:
  std::uint64_t number(std::size_t bytes, std::string_view what);
  // Whether so much may be read from here on; if not, the error is set.
  bool want(std::uint64_t count, std::string_view what);
  // Makes the window hold at least one byte more; false at the end, or after an error.
  bool refill();
  void fail_truncated(std::uint64_t begin, std::uint64_t wanted, std::uint64_t have, std::string_view what);

  // At most one of the two is set; of memory, neither.
  ReadAt read_at_;
  ReadSome read_some_;
  std::string file_;
  std::optional<std::uint64_t> size_;
  std::string block_;        // of a file or a stream
  std::string_view window_;  // what is at hand: all of memory, or the filled part of block_
  // Byte of the source at which the window begins.
  std::uint64_t window_begin_ = 0;
  std::size_t at_ = 0;  // in the window
  std::uint64_t limit_ = UINT64_MAX;
  bool big_endian_ = false;
  std::optional<FileError> error_;
};

}  // namespace posenc::io
