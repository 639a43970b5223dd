#include "io/files/looks_like.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

#include "io/files/text_file.h"
#include "support/test_data.h"

namespace posenc::io::looks_like_test {
namespace {

TEST(LooksLike, KnowsNoJson) {
  for (const std::string text :
       {"", "{}", "[1]", " {\"a\": 1}", "\xEF\xBB\xBF{}", "null", "version", "NaN", "BZ", "\"<html>\"", "7"}) {
    EXPECT_EQ(looks_like(text), std::nullopt) << text;
    EXPECT_FALSE(is_llama2c(text)) << text;
  }
}

TEST(LooksLike, SafetensorsNeedsAPlausibleHeader) {
  const std::string header = "{\"a\":1}";
  EXPECT_EQ(looks_like(std::string("\x07\0\0\0\0\0\0\0", 8) + header), "a safetensors file");
  EXPECT_EQ(looks_like(std::string("\0\0\0\0\0\0\0\0", 8) + header), std::nullopt);
  EXPECT_EQ(looks_like(std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8) + header), std::nullopt);
}

std::string header_of(std::array<std::int32_t, 7> sizes) {
  std::string bytes;
  for (const std::int32_t size : sizes) {
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(static_cast<std::uint32_t>(size) >> (8 * i) & 0xFFU);
  }
  return bytes;
}

// dim, hidden_dim, layers, heads, kv_heads, vocab, length
constexpr std::array<std::int32_t, 7> kStories260K{64, 172, 5, 8, 4, 512, 512};

TEST(LooksLike, Llama2cIsTakenForOneBySizesThatGoTogether) {
  EXPECT_TRUE(is_llama2c(header_of(kStories260K)));
  EXPECT_TRUE(is_llama2c(header_of({4096, 11008, 32, 32, 32, -32000, 2048})));
  EXPECT_TRUE(is_llama2c(header_of({640, 1720, 5, 8, 4, 512, 512})));  // begins like a pickle
  EXPECT_FALSE(is_llama2c(header_of(kStories260K).substr(0, 27)));
  for (std::size_t i = 0; i < kStories260K.size(); ++i) {
    for (const std::int32_t wrong : {0, 1 << 25}) {
      std::array<std::int32_t, 7> sizes = kStories260K;
      sizes[i] = wrong;
      EXPECT_FALSE(is_llama2c(header_of(sizes))) << i << " is " << wrong;
    }
  }
  EXPECT_FALSE(is_llama2c(header_of({64, 172, 5, 8, 3, 512, 512})));   // 8 heads in groups of 3
  EXPECT_FALSE(is_llama2c(header_of({64, 172, 5, 64, 4, 512, 512})));  // heads of one channel
  EXPECT_FALSE(is_llama2c(header_of({64, 172, 5, 8, 4, std::numeric_limits<std::int32_t>::min(), 512})));
}

TEST(LooksLike, Llama2cHasAMagicFromVersion1On) {
  EXPECT_TRUE(is_llama2c(std::string("24ka\x01\0\0\0", 8)));
  EXPECT_TRUE(is_llama2c(std::string("24ka\x02\0\0\0", 8)));
  EXPECT_FALSE(is_llama2c(std::string("24ka\x03\0\0\0", 8)));
  EXPECT_FALSE(is_llama2c("24ka"));
}

TEST(LooksLike, NoConfigLooksLikeSomethingElse) {
  POSENC_NEED_DATA("configs");
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::test_data() / "configs")) {
    const Result<std::string> text = read_text_file(entry.path(), 1 << 20);
    ASSERT_TRUE(text.ok()) << text.error().message();
    EXPECT_EQ(looks_like(*text), std::nullopt) << entry.path();
    EXPECT_FALSE(is_llama2c(*text)) << entry.path();
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace posenc::io::looks_like_test
