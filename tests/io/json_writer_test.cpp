#include "io/json/json_writer.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "io/json/json.h"
#include "posenc/error.h"

namespace posenc::io::json_writer_test {
namespace {

template <typename T>
std::string written(const T& value) {
  JsonWriter json;
  json.value(value);
  return json.take();
}

TEST(JsonWriter, LaysOutByLinesAndInALine) {
  JsonWriter json;
  json.begin_object();
  json.member("known", true);
  json.member("base", 500000.0);
  json.key("inv_freq");
  const std::array<double, 3> list = {1.0, 0.25, 1e-20};
  json.numbers(std::span<const double>(list));
  json.key("axes");
  json.begin_array(JsonLayout::line);
  json.value("t");
  json.begin_object();
  json.null_member("a");
  json.member("b", 2);
  json.end_object();
  json.end_array();
  json.key("empty");
  json.begin_array();
  json.end_array();
  json.key("stacks");
  json.begin_array();
  json.begin_object();
  json.end_object();
  json.value(-7);
  json.end_array();
  json.end_object();
  EXPECT_EQ(json.take(), R"({
  "known": true,
  "base": 500000,
  "inv_freq": [1, 0.25, 1e-20],
  "axes": ["t", {"a": null, "b": 2}],
  "empty": [],
  "stacks": [
    {},
    -7
  ]
})");
}

TEST(JsonWriter, RootLayoutHoldsForAll) {
  JsonWriter json(JsonLayout::line);
  json.begin_array();
  json.begin_array(JsonLayout::lines);
  json.value(1);
  json.value(2);
  json.end_array();
  json.end_array();
  EXPECT_EQ(json.take(), "[[1, 2]]");
}

TEST(JsonWriter, CompactHasNoSpaces) {
  JsonWriter json(JsonLayout::compact);
  json.begin_object();
  json.key("a");
  json.numbers(std::span<const double>(std::array{1.0, 2.0}));
  json.key("b");
  json.begin_object();
  json.member("c d", "e f");
  json.null_member("g");
  json.end_object();
  json.end_object();
  EXPECT_EQ(json.take(), R"({"a":[1,2],"b":{"c d":"e f","g":null}})");
}

TEST(JsonWriter, IntegersAreWhole) {
  EXPECT_EQ(written(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(written(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(written(std::uint8_t{65}), "65");
}

TEST(JsonWriter, DoublesAreShort) {
  EXPECT_EQ(written(10000.0), "10000");
  EXPECT_EQ(written(1e6), "1000000");
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(-0.0), "-0");
  EXPECT_EQ(written(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(written(1e300), "1e+300");
  EXPECT_EQ(written(std::numeric_limits<double>::denorm_min()), "5e-324");
  EXPECT_EQ(written(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(written(-std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonWriter, DoublesReadBackAndAreNoLongerThanToChars) {
  std::mt19937_64 random(20240229);
  for (int i = 0; i < 200000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (!(value - value == 0)) continue;
    const std::string text = written(value);
    const Result<JsonDocument> read = JsonDocument::parse(text, "number");
    ASSERT_TRUE(read.ok()) << read.error().message();
    ASSERT_EQ(std::bit_cast<std::uint64_t>(*read->root().as_double()), std::bit_cast<std::uint64_t>(value)) << text;
    // std::to_chars has the shortest digits, always with an exponent here.
    if (text.find('e') == std::string::npos) continue;
    std::array<char, 64> digits{};
    const auto shortest = std::to_chars(digits.begin(), digits.end(), value, std::chars_format::scientific);
    ASSERT_EQ(text, std::string_view(digits.data(), static_cast<std::size_t>(shortest.ptr - digits.data())));
  }
}

TEST(JsonWriter, StringsAreSafe) {
  using namespace std::string_view_literals;
  EXPECT_EQ(written("a\"b\\c/\b\f\n\r\t"), R"("a\"b\\c/\b\f\n\r\t")");
  EXPECT_EQ(written("\0\x01\x1f\x7f"sv), R"("\u0000\u0001\u001f\u007f")");
  EXPECT_EQ(written("\xC2\x9B\xE2\x80\xAE"), R"("\u009b\u202e")");
  EXPECT_EQ(written("\xE4\xBD\x8D\xF0\x9F\xA7\xAD"), "\"\xE4\xBD\x8D\xF0\x9F\xA7\xAD\"");
  EXPECT_EQ(written("a\xFFz\xE4\xBD"), "\"a\xEF\xBF\xBDz\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(JsonWriter, AnyBytesMakeATextThatReadsBack) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    const Result<JsonDocument> read = JsonDocument::parse(written(bytes), "string");
    ASSERT_TRUE(read.ok()) << read.error().message();
    // Written again, it is the same: what was broken is mended once.
    ASSERT_EQ(written(std::string(*read->root().as_string())), written(bytes));
  }
}

TEST(JsonWriter, RefusesWhatIsNoJson) {
  EXPECT_THROW(JsonWriter().take(), Error);
  EXPECT_THROW(JsonWriter().key("a"), Error);
  EXPECT_THROW(JsonWriter().end_object(), Error);
  JsonWriter two;
  two.value(1);
  EXPECT_THROW(two.value(2), Error);
  JsonWriter object;
  object.begin_object();
  EXPECT_THROW(object.value(1), Error);
  EXPECT_THROW(object.end_array(), Error);
  EXPECT_THROW(object.take(), Error);
  object.key("a");
  EXPECT_THROW(object.key("b"), Error);
  EXPECT_THROW(object.end_object(), Error);
}

TEST(JsonWriter, WritesAgainAfterTake) {
  JsonWriter json;
  json.value(1);
  EXPECT_EQ(json.take(), "1");
  json.value("two");
  EXPECT_EQ(json.take(), "\"two\"");
}

}  // namespace
}  // namespace posenc::io::json_writer_test
