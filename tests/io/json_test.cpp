#include "io/json/json.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "io/files/text_file.h"
#include "support/test_data.h"

namespace posenc::io::json_test {
namespace {

JsonDocument parsed(std::string_view text) {
  Result<JsonDocument> result = JsonDocument::parse(text, "config.json");
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message());
  return std::move(result).value();
}

JsonValue member(const JsonValue& object, std::string_view key) {
  const Result<std::optional<JsonValue>> found = object.find(key);
  EXPECT_TRUE(found.ok() && found->has_value()) << key;
  return **found;
}

TEST(Json, ReadsEachKind) {
  const JsonDocument document =
      parsed(R"({"n": null, "t": true, "f": false, "i": -12, "d": 1.5e3, "s": "hi", "a": [1, []], "o": {}})");
  const JsonValue root = document.root();
  EXPECT_EQ(root.kind(), JsonKind::object);
  EXPECT_EQ(root.size(), 8);
  EXPECT_TRUE(member(root, "n").is_null());
  EXPECT_TRUE(*member(root, "t").as_bool());
  EXPECT_FALSE(*member(root, "f").as_bool());
  EXPECT_EQ(*member(root, "i").as_int(), -12);
  EXPECT_EQ(*member(root, "d").as_double(), 1500.0);
  EXPECT_EQ(*member(root, "d").as_int(), 1500);
  EXPECT_EQ(member(root, "d").text(), "1.5e3");
  EXPECT_EQ(*member(root, "s").as_string(), "hi");
  EXPECT_EQ(member(root, "a").size(), 2);
  EXPECT_EQ(member(root, "o").size(), 0);
  EXPECT_EQ(member(root, "n").text(), "");
  EXPECT_FALSE(document.had_byte_order_mark());
  EXPECT_TRUE(document.duplicates().empty());
}

TEST(Json, RootMayBeAnyValue) {
  EXPECT_EQ(parsed("null").root().kind(), JsonKind::null);
  EXPECT_EQ(*parsed(" 7 ").root().as_int(), 7);
  EXPECT_EQ(*parsed("\"a\"").root().as_string(), "a");
  EXPECT_EQ(parsed("[]").root().size(), 0);
  EXPECT_EQ(parsed("[]").root().pointer(), "");
  EXPECT_EQ(name(parsed("[]").root().kind()), "array");
}

TEST(Json, ItemsComeInFileOrderWithKeys) {
  const JsonDocument document = parsed(R"({"b": [[1, 2], {"x": 3}, 4], "a": {"z": {}, "y": []}, "": 0})");
  const std::vector<JsonValue> members = document.root().items();
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(members[0].key(), "b");
  EXPECT_EQ(members[1].key(), "a");
  EXPECT_EQ(members[2].key(), "");
  const std::vector<JsonValue> list = members[0].items();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].items()[1].pointer(), "/b/0/1");
  EXPECT_EQ(list[0].key(), "");
  EXPECT_EQ(list[1].items()[0].pointer(), "/b/1/x");
  EXPECT_EQ(*list[2].as_int(), 4);
  EXPECT_EQ(members[1].items()[1].pointer(), "/a/y");
  EXPECT_TRUE(members[2].items().empty());
  EXPECT_EQ(members[2].size(), 0);
}

TEST(Json, FindsEachOfManyKeys) {
  std::string text = "{";
  for (int i = 0; i < 1000; ++i)
    text += (i == 0 ? "" : ",") + ("\"k" + std::to_string(i * 7919 % 1000) + "\":" + std::to_string(i));
  text += "}";
  const JsonDocument document = parsed(text);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(*member(document.root(), "k" + std::to_string(i * 7919 % 1000)).as_int(), i);
  }
  EXPECT_FALSE(document.root().find("k1000")->has_value());
  EXPECT_FALSE(document.root().find("")->has_value());
  EXPECT_FALSE(member(document.root(), "k0").find("k0")->has_value());
}

TEST(Json, PointersAreEscaped) {
  const JsonDocument document = parsed(R"({"a/b~c": {"\u00e9": [0]}})");
  EXPECT_EQ(document.root().items()[0].items()[0].items()[0].pointer(), "/a~1b~0c/\xC3\xA9/0");
}

TEST(Json, DecodesEscapes) {
  const JsonDocument document =
      parsed(R"(["\"\\\/\b\f\n\r\t", "\u0000x", "\ud83e\udded", "\u4f4d", "a\u0062c", "\\ud800"])");
  const std::vector<JsonValue> strings = document.root().items();
  EXPECT_EQ(*strings[0].as_string(), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(*strings[1].as_string(), std::string_view("\0x", 2));
  EXPECT_EQ(*strings[2].as_string(), "\xF0\x9F\xA7\xAD");
  EXPECT_EQ(*strings[3].as_string(), "\xE4\xBD\x8D");
  EXPECT_EQ(*strings[4].as_string(), "abc");
  EXPECT_EQ(*strings[5].as_string(), "\\ud800");
}

TEST(Json, EscapedKeysAreFoundAndCountAsDuplicates) {
  const JsonDocument document = parsed("{\"a\\u0062\": 1, \"x\": 2,\n \"ab\": 3}");
  ASSERT_EQ(document.duplicates().size(), 1u);
  EXPECT_EQ(document.duplicates()[0].pointer, "/ab");
  EXPECT_FALSE(document.root().find("ab").ok());
  EXPECT_EQ(*member(document.root(), "x").as_int(), 2);
}

TEST(Json, DuplicatesAreListedInFileOrderWithLines) {
  const JsonDocument document = parsed("{\n\"a\":1,\n\"b\":{\"c\":1,\n\"c\":2,\n\"c\":3},\n\"a\":2}");
  ASSERT_EQ(document.duplicates().size(), 3u);
  const auto& list = document.duplicates();
  EXPECT_EQ(list[0].pointer, "/b/c");
  EXPECT_EQ(list[0].first_line, 3);
  EXPECT_EQ(list[0].second_line, 4);
  EXPECT_EQ(list[1].pointer, "/b/c");
  EXPECT_EQ(list[1].first_line, 4);
  EXPECT_EQ(list[1].second_line, 5);
  EXPECT_EQ(list[2].pointer, "/a");
  EXPECT_EQ(list[2].first_line, 2);
  EXPECT_EQ(list[2].second_line, 6);
  const FileError error = document.root().find("a").error();
  EXPECT_EQ(error.message(), "config.json:6:1: /a: expected the key once, got it on lines 2 and 6");
}

TEST(Json, ErrorsSayWhereAndWhatCame) {
  const JsonDocument document =
      parsed("{\n  \"rope_scaling\": {\"factor\": -2, \"t\": \"lin\", \"l\": [1, 2], \"o\": {\"a\": 1}}}");
  const JsonValue scaling = member(document.root(), "rope_scaling");
  const FileError error = member(scaling, "factor").error(ErrorKind::out_of_range, "a number above 0", "why");
  EXPECT_EQ(error.message(), "config.json:2:30: /rope_scaling/factor: expected a number above 0, got -2 (why)");
  EXPECT_EQ(error.kind, ErrorKind::out_of_range);
  EXPECT_EQ(error.offset, 31);
  EXPECT_EQ(member(scaling, "factor").offset(), 31);
  EXPECT_EQ(member(scaling, "t").as_double().error().got, "\"lin\"");
  EXPECT_EQ(member(scaling, "l").as_int().error().got, "an array of 2 values");
  EXPECT_EQ(member(scaling, "o").as_string().error().got, "an object of 1 member");
  EXPECT_EQ(member(scaling, "l").as_bool().error().expected, "true or false");
  EXPECT_EQ(scaling.as_bool().error().kind, ErrorKind::type);
}

TEST(Json, LongValuesAndPathsAreCutInErrors) {
  const std::string key(100000, 'k');
  const JsonDocument document = parsed("{\"" + key + "\": [\"" + std::string(59, 'v') + "\xE4\xBD\x8D" + key + "\"]}");
  const JsonValue value = document.root().items()[0].items()[0];
  const FileError error = value.as_int().error();
  EXPECT_EQ(error.got, "\"" + std::string(59, 'v') + "... (100062 bytes)\"");
  EXPECT_LT(error.path.size(), 300u);
  EXPECT_EQ(value.pointer(), "/" + key + "/0");
}

TEST(Json, DocumentsMoveAndKeepTheirText) {
  std::string text = R"({"a": "value", "b": "\n"})";
  JsonDocument first = parsed(text);
  text.assign(text.size(), '#');
  const JsonDocument second = std::move(first);
  EXPECT_EQ(*member(second.root(), "a").as_string(), "value");
  EXPECT_EQ(*member(second.root(), "b").as_string(), "\n");
}

TEST(Json, ByteOrderMarkIsSkippedAndTold) {
  const JsonDocument document = parsed("\xEF\xBB\xBF{\"a\": 1}");
  EXPECT_TRUE(document.had_byte_order_mark());
  const FileError error = member(document.root(), "a").as_string().error();
  EXPECT_EQ(error.offset, 9);
  EXPECT_EQ(error.column, 7);
}

TEST(Json, PublishedConfigsAreRead) {
  POSENC_NEED_DATA("configs");
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::test_data() / "configs")) {
    const Result<std::string> text = read_text_file(entry.path(), kMaxJsonBytes);
    ASSERT_TRUE(text.ok()) << text.error().message();
    const Result<JsonDocument> document = JsonDocument::parse(*text, entry.path().native());
    ASSERT_TRUE(document.ok()) << document.error().message();
    EXPECT_EQ(document->root().kind(), JsonKind::object) << entry.path();
    EXPECT_GT(document->root().size(), 0) << entry.path();
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace posenc::io::json_test
