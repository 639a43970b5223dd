// The reader of GGUF headers: what it keeps, passes over and notes. Bad files: tests/hostile/table/c_gguf.py.
#include "io/gguf/gguf.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "io/gguf/gguf_names.h"
#include "io/gguf/gguf_types.h"
#include "io/json/json.h"
#include "support/gguf_builder.h"
#include "support/test_data.h"

namespace posenc::io::gguf_test {
namespace {

using test::Gguf;
using test::GgufBuilder;

const GgufKeep kAll{.key = [](std::string_view) { return true; },
                    .model_key = [](std::string_view) { return true; },
                    .tensor = [](std::string_view) { return true; }};

GgufHeader header_of(const std::string& bytes, const GgufKeep& keep = kAll) {
  ByteCursor cursor(bytes, "x.gguf");
  Result<GgufHeader> header = read_gguf_header(cursor, keep);
  if (header) return std::move(*header);
  ADD_FAILURE() << header.error().message();
  return {};
}

TEST(GgufHeader, HasEachTypeOfValue) {
  const std::string bytes = GgufBuilder()
                                .byte("u8", Gguf::u8, 200)
                                .byte("i8", Gguf::i8, 200)
                                .raw("i16", static_cast<std::uint32_t>(Gguf::i16), "\xFE\xFF")
                                .u32("u32", UINT32_MAX)
                                .i32("i32", -7)
                                .u64("u64", UINT64_MAX)
                                .f32("f32", 0.5F)
                                .f64("f64", 0.1)
                                .flag("flag", true)
                                .text("text", "so")
                                .i32s("i32s", {1, -2, 3})
                                .texts("texts", {"a", "", "c"})
                                .bytes();
  const GgufHeader header = header_of(bytes);
  const auto integer = [&](std::string_view key) { return header.find(key)->numbers.at(0).integer; };
  EXPECT_EQ(header.key_count, 12u);
  EXPECT_EQ(integer("u8"), 200);
  EXPECT_EQ(integer("i8"), -56);
  EXPECT_EQ(integer("i16"), -2);
  EXPECT_EQ(integer("u32"), 4294967295);
  EXPECT_EQ(integer("i32"), -7);
  EXPECT_EQ(integer("u64"), std::nullopt);  // beyond int64
  EXPECT_EQ(header.find("u64")->numbers[0].real, 18446744073709551616.0);
  EXPECT_EQ(header.find("f32")->numbers[0].real, 0.5);
  EXPECT_EQ(header.find("f64")->numbers[0].real, 0.1);
  EXPECT_EQ(integer("flag"), 1);
  EXPECT_EQ(header.find("text")->text, "so");
  EXPECT_EQ(header.find("i32s")->numbers.size(), 3u);
  EXPECT_EQ(header.find("i32s")->numbers[1].integer, -2);
  EXPECT_EQ(header.find("texts")->count, 3u);
  EXPECT_EQ(header.find("nothing"), nullptr);
  EXPECT_EQ(bytes.substr(header.find("i32")->offset, 4), std::string("\xF9\xFF\xFF\xFF"));
}

TEST(GgufHeader, KeepsWhatItIsAskedFor) {
  const std::string bytes = GgufBuilder()
                                .u32("a", 1)
                                .u32("b", 2)
                                .u32("general.alignment", 64)
                                .alignment(64)
                                .zeros("x", {3})
                                .zeros("y", {4})
                                .bytes();
  const GgufHeader header = header_of(bytes, {.key = [](std::string_view key) { return key == "b"; },
                                              .model_key = [](std::string_view) { return false; },
                                              .tensor = [](std::string_view name) { return name == "y"; }});
  ASSERT_EQ(header.values.size(), 2u);
  EXPECT_EQ(header.values[0].key, "b");
  EXPECT_EQ(header.alignment, 64u);
  EXPECT_EQ(header.data_offset % 64, 0u);
  ASSERT_EQ(header.tensors.size(), 1u);
  EXPECT_EQ(header.tensors[0].name, "y");
  EXPECT_EQ(header.tensors[0].elements, 4u);
  EXPECT_EQ(header.tensors[0].offset, 64u);
}

TEST(GgufHeader, KeepsTheModelsOwnKeysOnceItKnowsTheModel) {
  const auto keys = [](const GgufBuilder& file) {
    const std::string bytes = file.bytes();
    std::string all;
    const GgufKeep keep{.key = [](std::string_view key) { return key == "general.architecture"; },
                        .model_key = [](std::string_view key) { return !key.starts_with("general."); },
                        .tensor = [](std::string_view) { return false; }};
    for (const GgufValue& value : header_of(bytes, keep).values) all += value.key + " ";
    return all;
  };
  EXPECT_EQ(keys(GgufBuilder().text("general.architecture", "a").u32("a.x", 1).u32("b.x", 1).u32("general.y", 1)),
            "general.architecture a.x ");
  EXPECT_EQ(keys(GgufBuilder().u32("a.x", 1).u32("b.x", 1).text("general.architecture", "a")),
            "a.x b.x general.architecture ");
}

TEST(GgufHeader, DoesNotKeepMoreThanItsLimits) {
  GgufBuilder many;
  for (std::size_t i = 0; i <= kMaxGgufKept; ++i) many.byte("k" + std::to_string(i), Gguf::u8, 0);
  const std::string bytes = many.bytes();
  ByteCursor cursor(bytes, "x.gguf");
  const Result<GgufHeader> header = read_gguf_header(cursor, kAll);
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().kind, ErrorKind::limit);
  // Too long to keep: its length is known all the same.
  const GgufHeader texts = header_of(GgufBuilder().text("long", std::string(kMaxGgufKeptTextBytes + 1, 't')).bytes());
  EXPECT_EQ(texts.find("long")->text, "");
  EXPECT_EQ(texts.find("long")->count, kMaxGgufKeptTextBytes + 1);
  const std::vector<std::int32_t> numbers(kMaxGgufKeptNumbers + 1);
  EXPECT_TRUE(header_of(GgufBuilder().i32s("long", numbers).bytes()).find("long")->numbers.empty());
}

TEST(GgufTensor, GivesItsNumbers) {
  const std::string bytes = GgufBuilder()
                                .zeros("before", {5})
                                .tensor({.name = "h",
                                         .shape = {6},
                                         .type = test::kF16,
                                         // 1, -2, 0.5, 65504, 2^-24, -0 in binary16
                                         .data = std::string("\x00\x3C\x00\xC0\x00\x38\xFF\x7B\x01\x00\x00\x80", 12)})
                                .floats("f", {1.5F, -2.25F})
                                .bytes();
  ByteCursor cursor(bytes, "x.gguf");
  const Result<GgufHeader> header = read_gguf_header(cursor, kAll);
  ASSERT_TRUE(header) << header.error().message();
  const auto numbers = [&](std::string_view name) { return *read_gguf_tensor(cursor, *header, *header->tensor(name)); };
  EXPECT_EQ(numbers("f"), (std::vector<double>{1.5, -2.25}));
  EXPECT_EQ(numbers("h"), (std::vector<double>{1, -2, 0.5, 65504, 0x1p-24, -0.0}));
}

TEST(GgufNames, FindsTheEarliestThatStandsTwice) {
  GgufNames names;
  names.add("a", 1);
  names.add("b", 2);
  EXPECT_EQ(names.repeated(), std::nullopt);
  names.add("c", 3);
  names.add("b", 4);
  names.add("a", 5);
  EXPECT_EQ(names.repeated(), (std::pair<std::uint64_t, std::uint64_t>{2, 4}));
}

// ---- real files, against metadata that another program wrote down ----

void expect_same(const GgufValue& value, const JsonValue& said) {
  switch (said.kind()) {
    case JsonKind::number: EXPECT_EQ(value.numbers.at(0).real, *said.as_double()); return;
    case JsonKind::boolean: EXPECT_EQ(value.numbers.at(0).real != 0, *said.as_bool()); return;
    case JsonKind::array: EXPECT_EQ(value.count, static_cast<std::uint64_t>(said.size())); return;
    default: break;
  }
  const std::string text(*said.as_string());
  if (value.type == GgufType::array) {
    EXPECT_EQ("[array " + std::to_string(value.count) + "]", text);
  } else if (text.ends_with("...")) {
    EXPECT_EQ(value.text.substr(0, text.size() - 3), text.substr(0, text.size() - 3));
  } else {
    EXPECT_EQ(value.text, text);
  }
}

JsonValue member(const JsonValue& object, std::string_view key) { return **object.find(key); }

TEST(GgufHeader, OfRealFilesIsWhatAnotherProgramRead) {
  POSENC_NEED_DATA("gguf/METADATA.jsonl");
  std::ifstream lines(test::test_data() / "gguf/METADATA.jsonl");
  int files = 0;
  for (std::string line; std::getline(lines, line); ++files) {
    const Result<JsonDocument> document = JsonDocument::parse(line, "METADATA.jsonl");
    ASSERT_TRUE(document) << document.error().message();
    const JsonValue row = document->root();
    const std::string file(*member(row, "file").as_string());
    SCOPED_TRACE(file);
    std::ifstream input(test::test_data() / "gguf" / file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(input), {}};
    if (file == "weight_inspect_tiny.gguf") continue;  // its weights are cut off, which is refused
    const GgufHeader header = header_of(bytes);
    EXPECT_EQ(header.version, static_cast<std::uint32_t>(*member(row, "version").as_int()));
    EXPECT_EQ(header.tensor_count, static_cast<std::uint64_t>(*member(row, "tensors").as_int()));
    const JsonValue keys = member(row, "kv");
    EXPECT_EQ(header.key_count, static_cast<std::uint64_t>(keys.size()));
    for (const JsonValue& member : keys.items()) {
      SCOPED_TRACE(member.key());
      const GgufValue* value = header.find(member.key());
      ASSERT_NE(value, nullptr);
      expect_same(*value, member);
    }
  }
  EXPECT_EQ(files, 24);
}

}  // namespace
}  // namespace posenc::io::gguf_test
