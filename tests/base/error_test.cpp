#include "posenc/error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace posenc::error_test {
namespace {

TEST(Error, SaysWhereWhatAndWhy) {
  const Error error("make_table", {"count", "be at least 0", "-3"});
  EXPECT_STREQ(error.what(), "[make_table] count must be at least 0 but is -3");
  EXPECT_EQ(error.problem(), (Problem{"count", "be at least 0", "-3"}));
}

TEST(Error, EscapesWhatSteersATerminalAndWhatIsNoUtf8) {
  const Error error("posenc_attend", {"weights' name \x1b[2J", "be one of the layer's", "\xff\xe2\x80\xae"});
  EXPECT_STREQ(error.what(),
               "[posenc_attend] weights' name \\x1b[2J must be one of the layer's but is "
               "\\xff\\xe2\\x80\\xae");
  EXPECT_EQ(error.problem().is, "\xff\xe2\x80\xae");
}

TEST(ErrorKind, EachHasANameOfItsOwn) {
  std::set<std::string_view> names;
  const int last = static_cast<int>(ErrorKind::output_exists);
  for (int kind = 0; kind <= last; ++kind) {
    const std::string_view text = name(static_cast<ErrorKind>(kind));
    EXPECT_NE(text, "unknown") << kind;
    EXPECT_EQ(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789"), std::string_view::npos) << text;
    names.insert(text);
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(last + 1));
  EXPECT_EQ(name(static_cast<ErrorKind>(last + 1)), "unknown");
}

FileError full() {
  FileError error;
  error.kind = ErrorKind::out_of_range;
  error.file = "config.json";
  error.offset = 70;
  error.line = 3;
  error.column = 15;
  error.path = "/rope_scaling/factor";
  error.expected = "a number above 0";
  error.got = "-2";
  error.detail = "a factor stretches";
  return error;
}

TEST(FileError, MessageHasEveryPart) {
  EXPECT_EQ(full().message(),
            "config.json:3:15: /rope_scaling/factor: expected a number above 0, got -2 (a factor stretches)");
}

TEST(FileError, MessageIsALineThatSomebodyReads) {
  FileError error = full();
  error.path = std::string(65000, 'k');
  error.got = std::string(1023, 'g') + "\u6f22" + std::string(1000, 'g');
  EXPECT_EQ(error.message(), "config.json:3:15: " + std::string(1024, 'k') +
                                 "... (65000 bytes): expected a number above 0, got " + std::string(1023, 'g') +
                                 "... (2026 bytes) (a factor stretches)");
}

TEST(FileError, MessageLeavesOutWhatIsNotKnown) {
  FileError error = full();
  error.line = error.column = -1;
  EXPECT_EQ(error.message(),
            "config.json: byte 70: /rope_scaling/factor: expected a number above 0, got -2 (a factor stretches)");
  error.offset = -1;
  EXPECT_EQ(error.message(),
            "config.json: /rope_scaling/factor: expected a number above 0, got -2 (a factor stretches)");
  error.path.clear();
  error.detail.clear();
  EXPECT_EQ(error.message(), "config.json: expected a number above 0, got -2");
  error.expected.clear();
  EXPECT_EQ(error.message(), "config.json: got -2");
  error.file.clear();
  EXPECT_EQ(error.message(), "got -2");
  EXPECT_EQ(FileError{}.message(), "");

  FileError missing;
  missing.kind = ErrorKind::io_open;
  missing.file = "config.json";
  missing.expected = "a file that can be opened";
  missing.got = "No such file or directory";
  EXPECT_EQ(missing.message(), "config.json: cannot open: No such file or directory");
}

TEST(FileError, MessageIsOneSafeLine) {
  FileError error = full();
  error.file = "a\nb\x1b[2Jc";
  error.got = "\xff\xe2\x80\xae";
  const std::string message = error.message();
  EXPECT_NE(message.find("a\\x0ab\\x1b[2Jc:3:15"), std::string::npos) << message;
  EXPECT_NE(message.find("got \\xff\\xe2\\x80\\xae"), std::string::npos) << message;
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> seven = 7;
  ASSERT_TRUE(seven.ok());
  EXPECT_EQ(*seven, 7);
  EXPECT_THROW(seven.error(), Error);
  const Result<int> none = full();
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error(), full());
  try {
    EXPECT_EQ(none.value(), 0);
    FAIL() << "value() of a failed result returned";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("config.json:3:15"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace posenc::error_test
