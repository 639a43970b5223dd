#include "io/looks_like.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "io/text_file.h"
#include "support/test_data.h"

namespace posenc::io {
namespace {

TEST(LooksLike, KnowsNoJson) {
  for (const std::string text :
       {"", "{}", "[1]", " {\"a\": 1}", "\xEF\xBB\xBF{}", "null", "version", "NaN", "BZ", "\"<html>\"", "7"}) {
    EXPECT_EQ(looks_like(text), std::nullopt) << text;
  }
}

TEST(LooksLike, SafetensorsNeedsAPlausibleHeader) {
  const std::string header = "{\"a\":1}";
  EXPECT_EQ(looks_like(std::string("\x07\0\0\0\0\0\0\0", 8) + header), "a safetensors file");
  EXPECT_EQ(looks_like(std::string("\0\0\0\0\0\0\0\0", 8) + header), std::nullopt);
  EXPECT_EQ(looks_like(std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8) + header), std::nullopt);
}

TEST(LooksLike, NoConfigLooksLikeSomethingElse) {
  POSENC_NEED_DATA("configs");
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::test_data() / "configs")) {
    const Result<std::string> text = read_text_file(entry.path(), 1 << 20);
    ASSERT_TRUE(text.ok()) << text.error().message();
    EXPECT_EQ(looks_like(*text), std::nullopt) << entry.path();
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace posenc::io
