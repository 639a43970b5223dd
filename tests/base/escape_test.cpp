#include "base/escape.h"

#include <gtest/gtest.h>

#include <string>

namespace posenc::escape_test {
namespace {

using namespace std::string_literals;

TEST(Escape, KeepsHonestText) {
  for (const std::string text :
       {"", "plain ASCII ~ \\ \" '", "\xC3\xA9", "\xE4\xBD\x8D\xE7\xBD\xAE", "\xF0\x9F\xA7\xAD"}) {
    EXPECT_EQ(escape(text), text);
  }
}

TEST(Escape, ShowsControlCharacters) {
  EXPECT_EQ(escape("a\nb\tc\rd\0e"s), "a\\x0ab\\x09c\\x0dd\\x00e");
  EXPECT_EQ(escape("\x1b[31mred\x7f"), "\\x1b[31mred\\x7f");
  EXPECT_EQ(escape("\xC2\x9B"
                   "31m"),
            "\\xc2\\x9b31m");  // U+009B, the C1 form of ESC [
}

TEST(Escape, ShowsWhatReordersOrHides) {
  EXPECT_EQ(escape("\xE2\x80\xAE"), "\\xe2\\x80\\xae");  // U+202E right-to-left override
  EXPECT_EQ(escape("\xE2\x80\x8B"), "\\xe2\\x80\\x8b");  // U+200B zero width space
  EXPECT_EQ(escape("\xE2\x81\xA6"), "\\xe2\\x81\\xa6");  // U+2066 left-to-right isolate
  EXPECT_EQ(escape("\xEF\xBB\xBF"), "\\xef\\xbb\\xbf");  // U+FEFF
  EXPECT_EQ(escape("\xD8\x9C"), "\\xd8\\x9c");           // U+061C arabic letter mark
}

TEST(Escape, ShowsBrokenUtf8ByteByByte) {
  EXPECT_EQ(escape("a\xFF\xC3"), "a\\xff\\xc3");
  EXPECT_EQ(escape("\xE4\xBDz"), "\\xe4\\xbdz");
}

TEST(Escape, LeavesNothingDangerousOfAnyByte) {
  for (int c = 0; c < 256; ++c) {
    const std::string shown = escape(std::string(1, static_cast<char>(c)));
    EXPECT_EQ(shown.size(), c >= 0x20 && c < 0x7F ? 1u : 4u) << c;
  }
}

}  // namespace
}  // namespace posenc::escape_test
