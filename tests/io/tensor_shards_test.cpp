// One TensorFile over the shards of an index, and indexes that lie (D15 and D16 of the list of bad inputs).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "posenc/tensor_file.h"
#include "support/temporary_folder.h"
#include "support/tensor_bytes.h"

namespace posenc::tensor_shards_test {
namespace {

using test::safetensors_bytes;
using test::safetensors_entry;
using testing::HasSubstr;

std::string shard(const std::string& name, const std::string& data, const std::string& metadata = {}) {
  const std::string size = std::to_string(data.size());
  const std::string entry = safetensors_entry(name, "U8", "[" + size + "]", "[0," + size + "]");
  return safetensors_bytes("{" + (metadata.empty() ? "" : "\"__metadata__\":" + metadata + ",") + entry + "}", data);
}

class Shards : public ::testing::Test {
 protected:
  Shards() {
    folder_.file("one.safetensors", shard("a", "first", R"({"format":"pt","from":"one"})"));
    folder_.file("two.safetensors", shard("b", "second", R"({"from":"two"})"));
  }
  Result<TensorFile> open(const std::string& weight_map, const TensorFileOptions& options = {}) const {
    return open_text(R"({"metadata":{"total_size":11},"weight_map":)" + weight_map + "}", options);
  }
  Result<TensorFile> open_text(const std::string& text, const TensorFileOptions& options = {}) const {
    return open_tensor_file(folder_.file("model.safetensors.index.json", text), options);
  }
  void expect_error(const Result<TensorFile>& result, ErrorKind kind, const std::string& fragment) const {
    ASSERT_FALSE(result.ok()) << fragment;
    EXPECT_EQ(result.error().kind, kind) << result.error().message();
    EXPECT_THAT(result.error().message(), HasSubstr(fragment));
  }

  test::TemporaryFolder folder_;
};

std::string text_of(const TensorFile& file, std::string_view name) {
  const Result<TensorData> data = file.read(name);
  if (!data) return data.error().message();
  return {reinterpret_cast<const char*>(data->bytes().data()), data->bytes().size()};
}

TEST_F(Shards, AreOneFile) {
  for (const DataAccess access : {DataAccess::read, DataAccess::map}) {
    const Result<TensorFile> file = open(R"({"b":"two.safetensors","a":"one.safetensors"})", {.access = access});
    ASSERT_TRUE(file.ok()) << file.error().message();
    EXPECT_EQ(file->format(), TensorFormat::safetensors);
    ASSERT_EQ(file->tensors().size(), 2u);
    EXPECT_EQ(text_of(*file, "a"), "first");
    EXPECT_EQ(text_of(*file, "b"), "second");
    EXPECT_EQ(file->tensors()[1].file, 1);
    EXPECT_EQ(file->file_of(*file->find("b")), (folder_.path() / "two.safetensors").native());
    EXPECT_EQ(file->metadata().at("format"), "pt");
    EXPECT_EQ(file->metadata().at("from"), "one");
    EXPECT_TRUE(file->warnings().empty());
    EXPECT_THAT(text_of(*file, "c"), HasSubstr("model.safetensors.index.json: c: expected a tensor of that name"));
  }
}

// Hugging Face's cache has nothing but links.
TEST_F(Shards, MayBeLinks) {
  std::filesystem::create_symlink(folder_.path() / "one.safetensors", folder_.path() / "link.safetensors");
  const Result<TensorFile> file = open(R"({"a":"link.safetensors"})");
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ(text_of(*file, "a"), "first");
}

TEST_F(Shards, MayHoldMoreThanTheIndexSays) {
  folder_.file("both.safetensors", safetensors_bytes("{" + safetensors_entry("a", "U8", "[1]", "[0,1]") + "," +
                                                         safetensors_entry("b", "U8", "[1]", "[1,2]") + "}",
                                                     "xy"));
  const Result<TensorFile> twice = open(R"({"a":"one.safetensors","b":"both.safetensors"})");
  ASSERT_TRUE(twice.ok()) << twice.error().message();
  EXPECT_EQ(twice->tensors().size(), 2u);
  EXPECT_EQ(text_of(*twice, "a"), "first");
  EXPECT_EQ(text_of(*twice, "b"), "y");
  ASSERT_EQ(twice->warnings().size(), 1u);
  EXPECT_EQ(twice->warnings()[0].code, "not-in-index");
}

TEST_F(Shards, D15NamesThatLeadElsewhere) {
  folder_.file("secret", shard("a", "secret"));
  for (const std::string name : {"", ".", "..", "../one.safetensors", "/etc/passwd", "./one.safetensors", "x/../secret",
                                 R"(..\\secret)", R"(one.safetensors\u0000)"}) {
    expect_error(open("{\"a\":\"" + name + "\"}"), ErrorKind::bad_path, "the name of a file beside the index");
  }
}

TEST_F(Shards, D15FilesThatAreNotThere) {
  expect_error(open(R"({"a":"none.safetensors"})"), ErrorKind::io_open, "none.safetensors");
  std::filesystem::create_directory(folder_.path() / "folder");
  expect_error(open(R"({"a":"folder"})"), ErrorKind::not_regular_file, "folder");
  folder_.file("text.safetensors", "not one of them, and longer than a header's length");
  ASSERT_FALSE(open(R"({"a":"text.safetensors"})").ok());
}

TEST_F(Shards, D15KeysThatStandTwice) {
  expect_error(open(R"({"a":"one.safetensors","a":"two.safetensors"})"), ErrorKind::json_duplicate_key, "weight_map/a");
  expect_error(open_text(R"({"weight_map":{"a":"one.safetensors"},"weight_map":{}})"), ErrorKind::json_duplicate_key,
               "weight_map");
}

TEST_F(Shards, D16TensorsThatNoFileHas) {
  expect_error(open(R"({"a":"two.safetensors","b":"two.safetensors"})"), ErrorKind::missing_key, "/weight_map/a");
  expect_error(open(R"({"a":"one.safetensors","c":"one.safetensors"})"), ErrorKind::missing_key, "/weight_map/c");
}

TEST_F(Shards, IndexesOfAnotherShape) {
  expect_error(open_text("{}"), ErrorKind::missing_key, "weight_map");
  expect_error(open_text("[]"), ErrorKind::missing_key, "weight_map");
  expect_error(open_text("{"), ErrorKind::json_syntax, "");
  expect_error(open("[]"), ErrorKind::type, "an object of file names");
  expect_error(open("{}"), ErrorKind::empty, "a tensor at least");
  expect_error(open(R"({"a":1})"), ErrorKind::type, "/weight_map/a");
  std::string many = "{\"a0\":\"0\"";
  for (int i = 1; i < 1025; ++i) many += ",\"a" + std::to_string(i) + "\":\"" + std::to_string(i) + "\"";
  expect_error(open(many + "}"), ErrorKind::count_too_large, "at most 1024 files");
}

// Named, the format decides.
TEST_F(Shards, AreNotLookedForInAFormat) {
  EXPECT_FALSE(open(R"({"a":"one.safetensors"})", {.format = TensorFormat::safetensors}).ok());
}

}  // namespace
}  // namespace posenc::tensor_shards_test
