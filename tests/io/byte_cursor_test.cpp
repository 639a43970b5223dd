#include "io/files/byte_cursor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "base/checked.h"

namespace posenc::io::byte_cursor_test {
namespace {

// A source that hands out at most `most` bytes a call, with an interruption before each.
ReadSome dribble(const std::string& bytes, std::size_t most, std::size_t& at) {
  return [&bytes, most, &at, interrupted = false](char* to, std::size_t count) mutable -> std::ptrdiff_t {
    interrupted = !interrupted;
    if (interrupted) {
      errno = EINTR;
      return -1;
    }
    const std::size_t part = std::min({count, most, bytes.size() - at});
    std::memcpy(to, bytes.data() + at, part);
    at += part;
    return static_cast<std::ptrdiff_t>(part);
  };
}
ReadAt whole(const std::string& bytes) {
  return [&bytes](std::uint64_t offset, char* to, std::size_t count) -> std::ptrdiff_t {
    if (offset >= bytes.size()) return 0;
    const std::size_t part = std::min(count, bytes.size() - static_cast<std::size_t>(offset));
    std::memcpy(to, bytes.data() + offset, part);
    return static_cast<std::ptrdiff_t>(part);
  };
}

void read_it_all(ByteCursor& cursor) {
  EXPECT_EQ(cursor.u8("a"), 1u);
  EXPECT_EQ(cursor.u16("b"), 0x0302u);
  EXPECT_EQ(cursor.u32("c"), 0x07060504u);
  EXPECT_EQ(cursor.u64("d"), 0x0F0E0D0C0B0A0908u);
  cursor.set_big_endian(true);
  EXPECT_EQ(cursor.u16("e"), 0x1011u);
  EXPECT_EQ(cursor.text(3, "f"), "abc");
  cursor.skip(100'000, "g");
  EXPECT_EQ(cursor.position(), 100'020u);
  EXPECT_EQ(cursor.text(3, "h"), "end");
  EXPECT_FALSE(cursor.failed());
  EXPECT_EQ(cursor.u8("i"), 0u);
  ASSERT_TRUE(cursor.failed());
  EXPECT_EQ(cursor.error().kind, ErrorKind::truncated);
  EXPECT_EQ(cursor.error().offset, 100'023);
  EXPECT_EQ(cursor.error().expected, "1 byte for i");
}

std::string sample() {
  std::string bytes;
  for (char c = 1; c <= 17; ++c) bytes += c;
  return bytes + "abc" + std::string(100'000, 'x') + "end";
}

TEST(ByteCursor, ReadsTheSameOfMemoryAFileAndAStream) {
  const std::string bytes = sample();
  ByteCursor memory(bytes, "m");
  read_it_all(memory);
  ByteCursor file(whole(bytes), bytes.size(), "f");
  read_it_all(file);
  for (const std::size_t most : {1u, 7u, 100'000u}) {
    std::size_t at = 0;
    ByteCursor stream(dribble(bytes, most, at), "s");
    read_it_all(stream);
  }
}

TEST(ByteCursor, KeepsItsFirstError) {
  ByteCursor cursor(std::string_view("ab"), "m");
  EXPECT_EQ(cursor.u32("a number"), 0u);
  const FileError first = cursor.error();
  cursor.skip(UINT64_MAX, "more");
  EXPECT_EQ(cursor.text(1, "a letter"), "");
  cursor.fail(ErrorKind::limit, 0, {}, "x", "y");
  EXPECT_EQ(cursor.error(), first);
  EXPECT_EQ(first.message(), "m: byte 0: expected 4 bytes for a number, got 2 (the file ends at byte 2)");
}

TEST(ByteCursor, SeeksWithinASourceThatCan) {
  const std::string bytes = sample();
  ByteCursor memory(bytes, "m");
  memory.seek(100'020, "the end");
  EXPECT_EQ(memory.text(3, "it"), "end");
  ByteCursor file(whole(bytes), bytes.size(), "f");
  file.skip(50'000, "the first half");
  file.seek(17, "letters");
  EXPECT_EQ(file.text(3, "them"), "abc");
  file.seek(bytes.size() + 1, "beyond");
  EXPECT_TRUE(file.failed());
}

TEST(ByteCursor, TellsAFileThatShrinksFromOneThatIsShort) {
  const std::string bytes = "GGUF";
  ByteCursor file(whole(bytes), 100, "f");
  EXPECT_EQ(file.text(50, "a header"), "");
  ASSERT_TRUE(file.failed());
  EXPECT_EQ(file.error().kind, ErrorKind::io_read);
  EXPECT_NE(file.error().message().find("shrank"), std::string::npos);
}

TEST(ByteCursor, ReportsAReadThatFails) {
  ByteCursor file(ReadAt([](std::uint64_t, char*, std::size_t) -> std::ptrdiff_t {
                    errno = EIO;
                    return -1;
                  }),
                  100, "f");
  EXPECT_EQ(file.u8("a byte"), 0u);
  EXPECT_EQ(file.error().kind, ErrorKind::io_read);
}

TEST(ByteCursor, StopsAtItsLimit) {
  const std::string bytes = sample();
  ByteCursor cursor(bytes, "m");
  cursor.set_limit(10);
  cursor.skip(8, "eight");
  EXPECT_EQ(cursor.u32("four more"), 0u);
  EXPECT_EQ(cursor.error().kind, ErrorKind::limit);
}

TEST(Checked, GivesNothingWhereABitWouldBeLost) {
  EXPECT_EQ(checked_add(UINT64_MAX, 1), std::nullopt);
  EXPECT_EQ(checked_add(UINT64_MAX - 1, 1), UINT64_MAX);
  EXPECT_EQ(checked_multiply(1ULL << 32, 1ULL << 32), std::nullopt);
  EXPECT_EQ(checked_multiply(1ULL << 32, (1ULL << 32) - 1), 0xFFFFFFFF00000000ULL);
  EXPECT_EQ(checked_multiply(0, UINT64_MAX), 0u);
  EXPECT_EQ(checked_pad(UINT64_MAX - 3, 32), std::nullopt);
  EXPECT_EQ(checked_pad(33, 32), 64u);
  EXPECT_EQ(checked_pad(64, 32), 64u);
}

}  // namespace
}  // namespace posenc::io::byte_cursor_test
