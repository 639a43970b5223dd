#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace posenc::utf8_test {
namespace {

std::string encode(std::uint32_t code) {
  const auto byte = [](std::uint32_t bits) { return static_cast<char>(static_cast<unsigned char>(bits)); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | code >> 6), byte(0x80 | (code & 63))};
  if (code < 0x10000) return {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 63)), byte(0x80 | (code & 63))};
  return {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 63)), byte(0x80 | (code >> 6 & 63)),
          byte(0x80 | (code & 63))};
}

TEST(Utf8, ReadsEveryCodePointAndNoSurrogate) {
  for (std::uint32_t code = 0; code < 0x110000; ++code) {
    const std::string bytes = encode(code);
    const CodePoint point = first_code_point(bytes + "x");
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    ASSERT_EQ(point.length, surrogate ? 0 : bytes.size()) << code;
    ASSERT_EQ(point.value, surrogate ? 0 : code);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      ASSERT_EQ(first_code_point(std::string_view(bytes).substr(0, cut)).length, 0u) << code;
    }
  }
}

TEST(Utf8, RefusesOverlongAndTooLarge) {
  for (const std::string bytes : {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
                                  "\xF5\x80\x80\x80", "\xFE", "\xFF", "\x80", "\xBF"}) {
    EXPECT_EQ(first_code_point(bytes).length, 0u) << static_cast<int>(static_cast<unsigned char>(bytes[0]));
  }
}

}  // namespace
}  // namespace posenc::utf8_test
