// Files of tensors that other people published.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "io/files/text_file.h"
#include "io/json/json.h"
#include "posenc/tensor_file.h"
#include "support/test_data.h"

namespace posenc::published_tensors_test {
namespace {

// How many files with this ending open, and how many there are.
std::pair<int, int> opened_under(const std::filesystem::path& folder, std::string_view ending) {
  int good = 0;
  int all = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ending) continue;
    ++all;
    const Result<TensorFile> file = open_tensor_file(entry.path());
    EXPECT_TRUE(file.ok()) << (file ? "" : file.error().message());
    if (!file) continue;
    ++good;
    for (std::size_t i = 0; i < file->tensors().size(); ++i) {
      if (file->tensors()[i].type == ElementType::other) continue;
      EXPECT_TRUE(file->read(static_cast<std::int64_t>(i)).ok()) << file->tensors()[i].name;
    }
  }
  return {good, all};
}

TEST(TensorFiles, EveryGoldenArrayReads) {
  POSENC_NEED_DATA("golden");
  const auto [good, all] = opened_under(test::test_data() / "golden", ".npy");
  EXPECT_GT(all, 0);
  EXPECT_EQ(good, all);
  RecordProperty("files", all);
}

TEST(TensorFiles, EveryCheckpointReads) {
  POSENC_NEED_DATA("weights/tiny_safetensors");
  const auto [good, all] = opened_under(test::test_data() / "weights/tiny_safetensors", ".safetensors");
  EXPECT_GT(all, 0);
  EXPECT_EQ(good, all);
}

TEST(TensorFiles, EveryGgufReads) {
  POSENC_NEED_DATA("gguf");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::test_data() / "gguf")) {
    if (entry.path().extension() != ".gguf") continue;
    ++files;
    const Result<TensorFile> file = open_tensor_file(entry.path());
    const bool cut_off = entry.path().filename() == "weight_inspect_tiny.gguf";  // ends before its weights
    EXPECT_EQ(file.ok(), !cut_off) << entry.path();
  }
  EXPECT_GT(files, 0);
}

TEST(Llama2c, TablesOfARealModelAreWhatAnotherProgramRead) {
  POSENC_NEED_DATA("weights/llama2c/stories260K.bin");
  POSENC_NEED_DATA("golden/llama2c/stories260K_freq_cis.json");
  const Result<TensorFile> file = open_tensor_file(test::test_data() / "weights/llama2c/stories260K.bin");
  ASSERT_TRUE(file.ok()) << file.error().message();
  const std::string text = *io::read_text_file(test::test_data() / "golden/llama2c/stories260K_freq_cis.json", 1 << 22);
  const io::JsonDocument golden = *io::JsonDocument::parse(text, "golden");
  for (const std::string which : {"cos", "sin"}) {
    const TensorData data = *file->read("freqs_" + which);
    std::vector<float> table(data.bytes().size() / sizeof(float));
    std::memcpy(table.data(), data.bytes().data(), data.bytes().size());
    std::size_t at = 0;
    for (const io::JsonValue& row : (**golden.root().find(which + "[pos][i]")).items()) {
      for (const io::JsonValue& value : row.items()) {
        ASSERT_LT(at, table.size());
        ASSERT_EQ(table[at], static_cast<float>(*value.as_double())) << which << at;
        ++at;
      }
    }
    EXPECT_EQ(at, 512u * 4);
  }
}

}  // namespace
}  // namespace posenc::published_tensors_test
