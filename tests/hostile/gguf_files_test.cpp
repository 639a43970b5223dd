// GGUF models that need a file system or a stream: A11, A17 and B32 of the checklist, and an endless stream.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "posenc/read_plan.h"
#include "support/gguf_builder.h"
#include "support/heap_probe.h"

namespace posenc::test::gguf_files_test {
namespace {

// Bytes that an array announces and a stream never brings do not run up memory.
TEST(HostileGgufStream, OfEndlessZerosEndsAtTheLimit) {
  const std::string header = GgufBuilder().array_head("x", Gguf::text, UINT64_MAX / 16).bytes();
  std::size_t at = 0;
  const ByteStream endless = [&](std::byte* to, std::size_t count) -> std::ptrdiff_t {
    for (std::size_t i = 0; i < count; ++i, ++at) {
      to[i] = at < header.size() ? static_cast<std::byte>(header[at]) : std::byte{0};
    }
    return static_cast<std::ptrdiff_t>(count);
  };
  const HeapProbe probe;
  const Result<Plan> plan = read_plan(endless, "<stdin>");
  EXPECT_LE(probe.peak_growth(), std::int64_t{1} << 20);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().kind, ErrorKind::limit) << plan.error().message();
}

class HostileGgufFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("posenc_gguf_" + std::to_string(testing::UnitTest::GetInstance()->random_seed()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path put(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  std::filesystem::path folder_;
};

GgufBuilder small() {
  return GgufBuilder()
      .text("general.architecture", "llama")
      .u32("llama.block_count", 1)
      .u32("llama.context_length", 64)
      .u32("llama.embedding_length", 16)
      .u32("llama.attention.head_count", 2);
}

TEST_F(HostileGgufFiles, A11ASparseFileOfManyTerabytesTakesNoMemory) {
  const std::uint64_t numbers = std::uint64_t{1} << 41;  // 8 TiB of F32
  const auto path = put("sparse.gguf", small().tensor({.name = "t", .shape = {numbers}}).bytes());
  std::error_code failure;
  std::filesystem::resize_file(path, (std::uint64_t{4} << 41) + 4096, failure);
  if (failure) GTEST_SKIP() << "the file system takes no file of 8 TiB: " << failure.message();
  const HeapProbe probe;
  const Result<Plan> plan = read_plan(path);
  EXPECT_LE(probe.peak_growth(), std::int64_t{1} << 20);
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_TRUE(plan->known);
}

TEST_F(HostileGgufFiles, C1AndA17AreToldByTheirBytes) {
  const Result<Plan> gguf = read_plan(put("model.safetensors", small().bytes()));
  ASSERT_TRUE(gguf.ok()) << gguf.error().message();
  EXPECT_EQ(gguf->source.kind, SourceKind::gguf);
  const Result<Plan> pickle = read_plan(put("model.gguf", "\x80\x02pickle"));
  ASSERT_FALSE(pickle.ok());
  EXPECT_EQ(pickle.error().kind, ErrorKind::wrong_format);
  EXPECT_NE(pickle.error().message().find("expected a GGUF model, got a Python pickle"), std::string::npos);
  const Result<Plan> empty = read_plan(put("empty.gguf", ""));
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().kind, ErrorKind::truncated);
}

TEST_F(HostileGgufFiles, B32ADirectoryMeansItsConfigAndNamesTheGgufBesideIt) {
  put("b.gguf", small().bytes());
  put("a.gguf", small().bytes());
  const Result<Plan> none = read_plan(folder_);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message().find("a.gguf"), std::string::npos) << none.error().message();
  put("config.json",
      R"({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16,
          "max_position_embeddings": 64})");
  const Result<Plan> plan = read_plan(folder_);
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_EQ(plan->source.kind, SourceKind::config_json);
  const auto beside = std::ranges::find(plan->warnings, "gguf-beside", &Warning::code);
  ASSERT_NE(beside, plan->warnings.end());
  EXPECT_NE(beside->message.find("a.gguf"), std::string::npos);
}

}  // namespace
}  // namespace posenc::test::gguf_files_test
