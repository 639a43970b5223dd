// Every way in which reading can go wrong on the way, made to happen.
#include "io/files/read_all.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>

#include "support/heap_probe.h"

namespace posenc::io::read_all_test {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// A file in memory that hands out a few bytes at a time.
struct Source {
  std::string content;
  std::size_t at = 0;

  std::ptrdiff_t give(char* to, std::size_t count, std::size_t at_most) {
    const std::size_t n = std::min({count, at_most, content.size() - at});
    std::memcpy(to, content.data() + at, n);
    at += n;
    return static_cast<std::ptrdiff_t>(n);
  }
};

std::string some_text(std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>('a' + i % 23);
  return out;
}

TEST(ReadAll, ShortReadsAndInterruptionsAreRetried) {
  Source source{some_text(10000)};
  int calls = 0;
  const auto read_some = [&](char* to, std::size_t count) -> std::ptrdiff_t {
    if (++calls % 3 == 0) return errno = EINTR, -1;
    return source.give(to, count, 7);
  };
  const Result<std::string> text = read_all(read_some, 10000, kNoLimit);
  ASSERT_TRUE(text.ok()) << text.error().message();
  EXPECT_EQ(*text, source.content);
  EXPECT_GT(calls, 2000);
}

TEST(ReadAll, AnErrorSaysWhereAndWhy) {
  Source source{some_text(5000)};
  const auto read_some = [&](char* to, std::size_t count) -> std::ptrdiff_t {
    if (source.at == 4096) return errno = EIO, -1;
    return source.give(to, count, 4096);
  };
  const FileError error = read_all(read_some, 5000, kNoLimit).error();
  EXPECT_EQ(error.kind, ErrorKind::io_read);
  EXPECT_EQ(error.offset, 4096);
  EXPECT_EQ(error.got, errno_text(EIO));
}

TEST(ReadAll, AFileThatShrinksIsAnError) {
  Source source{some_text(100)};
  const FileError error =
      read_all([&](char* to, std::size_t n) { return source.give(to, n, n); }, 4096, kNoLimit).error();
  EXPECT_EQ(error.kind, ErrorKind::io_read);
  EXPECT_EQ(error.offset, 100);
  EXPECT_NE(error.message().find("expected 4096 bytes, got 100"), std::string::npos) << error.message();
  EXPECT_NE(error.message().find("shrank"), std::string::npos) << error.message();
}

TEST(ReadAll, AFileThatGrowsIsReadToItsEnd) {
  Source source{some_text(3 << 20)};
  const Result<std::string> text =
      read_all([&](char* to, std::size_t n) { return source.give(to, n, n); }, 100, kNoLimit);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, source.content);
}

TEST(ReadAll, TheLimitIsExact) {
  for (const std::int64_t limit : {0, 1, 4096, 1 << 20}) {
    Source fits{some_text(static_cast<std::size_t>(limit))};
    EXPECT_TRUE(read_all([&](char* to, std::size_t n) { return fits.give(to, n, n); }, 0, limit).ok()) << limit;
    Source over{some_text(static_cast<std::size_t>(limit) + 1)};
    const FileError error = read_all([&](char* to, std::size_t n) { return over.give(to, n, n); }, 0, limit).error();
    EXPECT_EQ(error.kind, ErrorKind::limit) << limit;
    EXPECT_EQ(error.offset, limit);
  }
}

TEST(ReadAll, AnEndlessFileEndsAtTheLimit) {
  const auto zeros = [](char* to, std::size_t count) {
    std::memset(to, 0, count);
    return static_cast<std::ptrdiff_t>(count);
  };
  EXPECT_EQ(read_all(zeros, 0, 5 << 20).error().kind, ErrorKind::limit);
}

TEST(ReadAll, MemoryFollowsWhatIsReadNotWhatIsPromised) {
  const test::HeapProbe probe;
  const auto nothing = [](char*, std::size_t) { return std::ptrdiff_t{0}; };
  EXPECT_EQ(read_all(nothing, std::int64_t{1} << 43, kNoLimit).error().kind, ErrorKind::io_read);
  EXPECT_LT(probe.peak_growth(), 2 << 20);
}

}  // namespace
}  // namespace posenc::io::read_all_test
